// SPDX-License-Identifier: MIT
// Drives the page of cairn view in Debian's Chromium like a user, and compares its figures with
// cairn report --json. Prints TAP.
//
// page.mjs CAIRN FOLDER SHOTS|- PACKAGES FILE...     in FOLDER: lua.cairn, other.cairn, jobs.cairn,
//                                                    deep.cairn, imported.txt and perhaps
//                                                    stream.cairn; SHOTS gets pictures
// ONLY=TEXT in the environment runs the tests whose names contain it.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import captures from "./captures.mjs";
import counters from "./counters.mjs";
import moments from "./moments.mjs";
import figures from "./figures.mjs";
import fleet from "./fleet.mjs";
import frame from "./frame.mjs";
import frames from "./frames.mjs";
import keyboard from "./keyboard.mjs";
import linked from "./linked.mjs";
import questions from "./questions.mjs";
import sent from "./sent.mjs";
import steady from "./steady.mjs";
import transform from "./transform.mjs";
import when from "./when.mjs";
import where from "./where.mjs";

const [cairn, folder, shots, packages] = process.argv.slice(2);
const { chromium } = createRequire(join(packages, "x.js"))("playwright-core");
const files = process.argv.slice(6);
const json = (...words) => JSON.parse(execFileSync(cairn, words, { cwd: folder, maxBuffer: 1 << 28 }));
const tests = [];
const test = (name, run) => tests.push([name, run]);
let page, base, problems = [];

function same(found, wanted, what) {
  const a = JSON.stringify(found), b = JSON.stringify(wanted);
  if (a !== b) throw new Error(`${what || "figures"}: the page has ${a}, the command ${b}`);
}

function holds(good, what) {
  if (!good) throw new Error(what);
}

// Moves the pointer away, because the element under it shows a tooltip.
const go = async (hash) => {
  await page.mouse.move(2, 2);
  await page.goto(base + "#/" + hash);
};
// Waits until all answers have arrived and are drawn.
const quiet = async () => {
  for (let i = 0; i < 2; i++) {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 10)))));
    await page.waitForFunction(() => document.documentElement.dataset.waiting === "0" && Number(document.documentElement.dataset.rest || 0) === 0);
  }
};
const settled = async (selector) => {
  await page.waitForSelector(selector);
  await quiet();
};
// Returns the figures of a table's rows, by block.
const rows = (selector, whats) => page.$$eval(selector, (all, names) => all.map((row) => [Number(row.dataset.block), ...names.map((name) =>
  Number(row.querySelector(`[data-what="${name}"]`)?.dataset.value))]), whats);
const shot = async (name) => { if (shots !== "-") { await page.waitForTimeout(250); await page.screenshot({ path: join(shots, name + ".png") }); } };
const hash = () => page.evaluate(() => decodeURIComponent(location.hash));

async function until(condition, what) {
  for (const end = Date.now() + 60000; !condition(); await new Promise((done) => setTimeout(done, 20)))
    holds(Date.now() < end, "not within a minute: " + what);
}

function ofReport(name, ...options) {
  const report = json("report", "--json", name, "--flat", ...options);
  return report.flat.map((row) => [row.block.id, Object.values(row.self)[0], Object.values(row.inclusive)[0], row.calls]);
}

for (const [number, name] of files.entries()) {
  if (!["lua.cairn", "other.cairn", "stream.cairn"].includes(name)) continue;
  test(name + ": self and overall are those of the report", async () => {
    for (const [where, sort] of [["self", "self"], ["overall", "total"]]) {
      await go(`${where}?file=${number}&metric=ticks`);
      await settled("tbody tr[data-block]");
      same(await rows("tbody tr[data-block]", ["self", "inclusive", "calls"]), ofReport(name, "--metric", "ticks", "--top", "100", "--sort", sort), where);
      if (number === 0) await shot(where);
    }
  });

  test(name + ": a sequence is followed, dropped from, and one comes back", async () => {
    const first = ofReport(name, "--metric", "ticks", "--top", "1").find(([id]) => id)[0];
    await go(`self?file=${number}&metric=ticks`);
    await settled(`tr[data-block="${first}"] a.name`);
    await page.click(`tr[data-block="${first}"] a.name`);
    await settled(`tr[data-step="0"]`);
    const check = async (focus, drop) => {
      const its = json("report", "--json", name, "--metric", "ticks", "--focus", focus.map((id) => "#" + id).join(), ...(drop ? ["--drop", "#" + drop] : []), "--top", "60").sequence;
      const flatten = (list) => list.map((row) => [row.block.id, row.calls, row.self.ticks, row.inclusive.ticks]);
      await page.waitForFunction((steps) => document.querySelectorAll("tr[data-step]").length === steps, focus.length);
      await quiet();
      same(await rows("tr[data-block]", ["calls", "self", "inclusive"]), [...flatten(its.before), ...flatten(its.after)], "neighbours");
      const tip = await page.$eval(`tr[data-step="${focus.length - 1}"]`, (row) => ["calls", "self", "inclusive"].map((what) => Number(row.querySelector(`[data-what="${what}"]`).dataset.value)));
      same(tip, [its.calls, its.self.ticks, its.inclusive.ticks], "the function");
      same(await page.$$eval("tbody tr", (all) => new Set(all.map((row) => Math.round(row.getBoundingClientRect().width))).size), 1, "how wide rows are");
      return its;
    };
    const its = await check([first]);
    if (number === 0) await shot("sequence");
    const before = its.before.find((row) => row.block.id);
    await page.click(`tbody:first-of-type tr[data-block="${before.block.id}"] a.name`);
    const narrowed = await check([before.block.id, first]);
    same(await page.$$eval(".crumbs li.step > a:first-child", (all) => all.length), 2, "breadcrumbs");
    await page.goBack();
    await check([first]);
    await page.goForward();
    await check([before.block.id, first]);
    const after = narrowed.after[0];
    if (after) {
      await page.click(`tbody:last-of-type tr[data-block="${after.block.id}"] .act`);
      await settled(".crumbs li.drop");
      await check([before.block.id, first], after.block.id);
      await page.click(".crumbs li.drop .x");
      await check([before.block.id, first]);
    }
  });

  test(name + ": the flame graph zooms, searches and turns upside down", async () => {
    await go(`flame?file=${number}&metric=ticks`);
    await settled(".flame canvas");
    const total = json("report", "--json", name).metrics.find((m) => m.name === "ticks").total;
    same(await page.$eval('.details [data-what="inclusive"]', (at) => Number(at.dataset.value)), total, "the whole");
    if (number === 0) await shot("flame");
    if (name === "stream.cairn") await shot("flame-stream");
    await page.focus(".flame canvas");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const said = await page.waitForSelector("p.unseen[role=status]:not(:empty)", { state: "attached" });
    holds((await said.textContent()).length > 5, "the selected box is announced to screen readers");
    await page.keyboard.press("Enter");
    await settled(".above button");
    holds(/zoom=\d+/.test(await hash()), "zoomed");
    await page.goBack();
    await page.waitForFunction(() => !document.querySelector(".above button"));
    const word = ofReport(name, "--metric", "ticks", "--top", "3").find(([id]) => id)[0];
    const block = json("report", "--json", name, "--flat", "--top", "3", "--metric", "ticks").flat.find((row) => row.block.id === word).block.name;
    await page.keyboard.press("/");
    await page.keyboard.type(block);
    await settled('output [data-what="matches"]');
    const found = await page.$eval('output [data-what="matches"]', (at) => Number(at.dataset.value));
    const least = json("report", "--json", name, "--metric", "ticks", "--focus", "#" + word).sequence.inclusive.ticks;
    holds(found >= least && found <= total, `what matches costs ${found}, at least ${least}`);
    if (number === 0) await shot("search");
    await page.keyboard.press("Escape");
    await go(`flame?file=${number}&metric=ticks&callers=1`);
    await settled(".flame canvas");
    same(await page.$eval('.details [data-what="inclusive"]', (at) => Number(at.dataset.value)), total, "upside down");
    if (number === 0) await shot("callers");
  });

  test(name + ": the call graph and the paths", async () => {
    await go(`graph?file=${number}&metric=ticks&nodes=15`);
    await settled(".graph a.node");
    const edge = await page.$$eval(".graph g.edge", (all) => all.filter((g) => g.querySelector("text")).slice(0, 3)
      .map((g) => [g.dataset.caller, g.dataset.callee, Number(g.querySelector("text").dataset.value)]));
    for (const [a, b, value] of edge)
      same(value, json("report", "--json", name, "--metric", "ticks", "--focus", `#${a},#${b}`).sequence.inclusive.ticks, "arrow");
    if (number === 0) await shot("graph");
    await go(`sequences?file=${number}&metric=ticks`);
    await settled("tbody tr .path a.last");
    await page.click("tbody tr:first-child .path a");
    await settled("tr[data-step]");
  });
}

test("source with costs by line", async () => {
  const row = json("report", "--json", "lua.cairn", "--flat", "--metric", "ticks", "--top", "0").flat.find((one) => /ordered\.lua$/.test(one.block.file) && one.block.line > 0);
  await go(`source?metric=ticks&block=${row.block.id}`);
  await settled(`tr.here[data-line="${row.block.line}"]`);
  const self = await page.$eval("tr.here td", (cell) => Number(cell.dataset.value));
  same(self, row.self.ticks, "the line");
  await shot("source");
});

test("the difference between two captures", async () => {
  await go("diff?metric=ticks");
  await settled("table.sides tbody tr");
  const diff = json("diff", "--json", "lua.cairn", "other.cairn", "--metric", "ticks", "--top", "60");
  const found = await page.$$eval("table.sides tbody tr", (all) => all.map((row) => ["before", "after", "change"].map((what) => Number(row.querySelector(`[data-what="${what}"]`).dataset.value))));
  same(found, diff.blocks.map((row) => [row.self.before, row.self.after, row.self.after - row.self.before]), "rows");
  same(await page.$$eval(".totals > [data-value]", (all) => all.map((one) => Number(one.dataset.value))), [diff.total.before, diff.total.after], "totals");
  await settled("table.causes tbody tr");
  const why = json("diff", "--why", "--json", "lua.cairn", "other.cairn", "--metric", "ticks", "--top", "20");
  same(await page.$$eval("table.causes [data-what=amount]", (all) => all.map((one) => Number(one.dataset.value))), why.causes.map((one) => one.amount), "amounts of causes");
  same(await page.$eval("table.causes th[scope=row]", (one) => one.firstChild.textContent), why.causes[0].text, "the first cause");
  await settled(".flame canvas");
  await shot("diff");
});

const jobs = files.indexOf("jobs.cairn");

test("the timeline: a span, its attributes and its ancestry", async () => {
  const slowest = json("spans", "--json", "jobs.cairn", "--slowest=20").slowest.find((span) => span.handed_off);
  await go(`timeline?file=${jobs}&span=${slowest.id}`);
  await settled(`.span-card[data-span="${slowest.id}"]`);
  const value = (what) => page.$eval(`.span-card [data-what="${what}"]`, (at) => Number(at.dataset.value));
  same([await value("duration"), await value("self")], [slowest.duration, slowest.self], "the span");
  for (const one of slowest.attributes)
    same(await page.$eval(`.span-card [data-attribute="${one.key}"]`, (at) => at.textContent), String(one.value), one.key);
  same(await page.$$eval(".ancestors a", (all) => all.map((a) => Number(a.dataset.ancestor))), slowest.ancestors.map((one) => one.id), "ancestry");
  await shot("timeline");
  await page.click(".ancestors a");
  await settled(`.span-card[data-span="${slowest.ancestors[0].id}"]`);
  await page.focus(".lanes canvas");
  await page.keyboard.press("+");
  await page.waitForFunction(() => /from=/.test(location.hash));
  await page.keyboard.press("Home");
  await page.waitForFunction(() => !/from=/.test(location.hash));
});

test("the brush on iterations filters all pages on spans", async () => {
  await go(`iterations?file=${jobs}`);
  await settled(".u-over");
  await settled("tr[data-span]");
  await shot("iterations");
  const all = await page.$$eval("tr[data-span]", (list) => list.length);
  const box = await (await page.$(".u-over")).boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 3);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 3, box.y + box.height - 3, { steps: 6 });
  await page.mouse.up();
  await settled(".crumbs li.choice");
  await page.waitForFunction((n) => document.querySelectorAll("tr[data-span]").length < n, all);
  same(await page.$$eval("tr[data-span] th", (list) => [...new Set(list.map((one) => one.textContent))]), ["convert_image #1"], "the remaining spans");
  await page.click("tr[data-span] a.name");
  await page.waitForFunction(() => document.querySelector(".span-card") && /span=\d+/.test(location.hash) && !/chosen/.test(location.hash));
  same(await page.$eval('.span-card [data-what="iteration"]', (at) => at.textContent), "1", "the span's own number");
  await page.click(".crumbs li.choice .x");
  await page.waitForFunction(() => !document.querySelector(".crumbs li.choice"));
});

test("spans by block, and missing time", async () => {
  await go(`spans?file=${jobs}`);
  await settled("tr[data-block]");
  const table = json("spans", "--json", "jobs.cairn", "--top", "0");
  same(await rows("tbody tr[data-block]", ["total", "self", "count", "median"]), table.blocks.map((row) => [row.block.id, row.total, row.self, row.count, row.median]), "blocks");
  await go(`missing?file=${jobs}`);
  await settled('[data-what="missing"]');
  same(await page.$eval('[data-what="missing"]', (at) => Number(at.dataset.value)), json("spans", "--json", "jobs.cairn", "--missing").missing, "missing");
});

test("explain shows the figures of cairn explain", async () => {
  await go(`explain?file=${jobs}`);
  await settled('[data-what="answer"]');
  const theirs = json("explain", "--json", "jobs.cairn", "convert_image");
  same(await page.$eval('[data-what="answer"]', (at) => at.textContent), theirs.answer, "the answer");
  same(await page.$$eval('[data-what="share"]', (all) => all.map((one) => Number(one.dataset.value))), theirs.parts.map((row) => row.share), "the parts");
  await shot("explain");
});

test("explain shows in which functions slow spans spend more", async () => {
  const frames = files.indexOf("frames.cairn"), theirs = json("explain", "--json", "frames.cairn", "track").functions;
  const block = json("query", "--json", "frames.cairn", "select id from blocks where name = 'track'").rows[0][0];
  await go(`explain?file=${frames}&block=${block}`);
  await settled('[data-what="functions"]');
  same(theirs.list.map((row) => row.block.name), ["relocalize", "search"], "what it searches with");
  same(await page.$$eval('[data-what="extra"]', (all) => all.map((one) => Number(one.dataset.value))), theirs.list.map((row) => row.slow - row.typical), "the differences");
  same(await page.$$eval('[data-what="functions"] tbody th', (all) => all.map((one) => one.textContent.trim())), ["relocalize", "search"], "the functions");
  await shot("explain-functions");
});

test("names include the enclosing blocks", async () => {
  const file = files.indexOf("other.cairn");
  const report = json("report", "--json", "other.cairn", "--flat", "--metric", "ticks", "--top", "100");
  const inner = report.flat.find((row) => row.block.within);
  holds(inner, "the program has nested functions");
  const name = inner.block.within + "." + inner.block.name;
  await go(`self?file=${file}&metric=ticks`);
  await settled(`tr[data-block="${inner.block.id}"]`);
  same(await page.$eval(`tr[data-block="${inner.block.id}"] .name`, (at) => at.textContent), name, "in a table");
  await go(`sequence?file=${file}&metric=ticks&focus=${inner.block.id}`);
  await settled(".crumbs li.step");
  same(await page.$eval(".crumbs li.step > a:first-child", (at) => at.textContent), name, "breadcrumb");
  const path = join(folder, "nested.html");
  execFileSync(cairn, ["report", join(folder, "other.cairn"), "--html", path]);
  const sent = await browser.newPage();
  try {
    await sent.goto("file://" + path);
    await sent.waitForFunction(() => window.cairnAsk);
    same(await sent.evaluate((one) => window.cairnAsk(one), "blocks?ids=" + inner.block.id), [inner.block], "in one file");
  } finally {
    await sent.close();
  }
});

test("what-if: a slider loses no key, and answers with the prediction of cairn whatif", async () => {
  await go(`whatif?file=${jobs}`);
  await settled('[data-what="effects"]');
  const value = (what) => page.$eval(`[data-what="${what}"]`, (at) => Number(at.dataset.value));
  same(await value("recorded"), json("whatif", "--json", "jobs.cairn").recorded, "recorded");
  const id = json("spans", "--json", "jobs.cairn").blocks.find((row) => row.block.name === "convert_image").block.id;
  // Steps in successive frames, faster than the page's effects run.
  const step = (way) => page.$eval(`input[type=range][data-block="${id}"]`, async (slider, way) => {
    for (let i = 0; i < 3; i++) {
      await new Promise(requestAnimationFrame);
      slider[way]();
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }, way);
  await step("stepUp");
  same(new URLSearchParams((await hash()).split("?")[1]).get("speed"), id + ":2", "speed in the address");
  await step("stepDown");
  same(new URLSearchParams((await hash()).split("?")[1]).get("speed"), null, "speed in the address");
  await page.focus(`input[type=range][data-block="${id}"]`);
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowRight");
  await page.waitForFunction((number) => location.hash.includes("speed=" + number), encodeURIComponent(id + ":2"));
  await quiet();
  same(await value("predicted"), json("whatif", "--json", "jobs.cairn", "--speedup", "convert_image=2").predicted, "predicted");
  await shot("whatif");
});

test("a live capture is reloaded as it grows", async () => {
  if (!process.env.LIVE) return;
  const program = spawn(process.env.LIVE, [join(folder, "live.cairn"), "60", "2", "0", "0.002", "calm"], { stdio: "ignore" });
  await until(() => spawnSync(cairn, ["report", "live.cairn"], { cwd: folder }).status === 0, "the program records");
  const live = await serve(["live.cairn"]);
  try {
    await elsewhere(live.address, async () => {
      await go("functions");
      await page.waitForSelector(".live");
      await page.waitForSelector('[data-metric="calls"]');
      const first = await page.$eval('[data-metric="calls"]', (at) => Number(at.dataset.value));
      await page.waitForFunction((before) => Number(document.querySelector('[data-metric="calls"]').dataset.value) > before, first);
      program.kill("SIGKILL");
      await page.waitForSelector(".badge");
    });
  } finally {
    program.kill("SIGKILL");
    live.stop();
  }
});

/* Presses g and a key. The page ignores them while it loads and its menu lacks the link, or a field has
   the focus: then they are pressed again. */
async function opens(key, where) {
  const tries = 10;
  for (let i = 1; ; i++) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    try {
      await page.waitForFunction((name) => location.hash.startsWith("#/" + name), where, { timeout: 5000 });
      return;
    } catch (error) {
      if (i === tries)
        throw error;
    }
  }
}

test("every page opens by its key, and all its elements have names", async () => {
  await go(`flame?file=${jobs}`);
  await settled(".menu");
  for (const [key, where] of [["2", "functions"], ["3", "callers"], ["4", "paths"], ["5", "graph"], ["6", "source"], ["7", "tree"], ["t", "timeline"], ["r", "span-tree"], ["s", "spans"], ["w", "slowest"], ["i", "iterations"], ["e", "explain"], ["h", "whatif"], ["m", "missing"], ["x", "diff"], ["1", "flame"]]) {
    await page.evaluate(() => document.activeElement?.blur());
    await opens(key, where);
    // The menu and the title are drawn after the address has changed.
    const link = await page.waitForSelector(`.menu a[aria-current=page][data-page="${where}"]`);
    await page.waitForFunction((name) => document.title.startsWith(name), await link.textContent());
    await quiet();
    same(await page.$$eval("h1", (all) => all.length), 1, where + ": headings");
    const nameless = await page.$$eval("a, button, input, select, canvas", (all) => all.filter((one) =>
      !(one.closest("[role=img], [aria-hidden=true]") || one.getAttribute("aria-label") || one.textContent.trim() || one.closest("label")?.textContent.trim() || one.title)).map((one) => one.outerHTML));
    same(nameless, [], where + ": without a name");
    same(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, where + ": fits");
  }
});

// Starts a server of its own for some files.
async function serve(names, ...options) {
  const other = spawn(cairn, ["view", ...options, ...names], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const address = String(await new Promise((done) => other.stdout.once("data", done))).trim();
  return { address, stop: () => other.kill("SIGTERM") };
}

// Runs a test in a tab of its own, at another address; it gets the page that was there before.
async function elsewhere(address, run) {
  const other = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  other.setDefaultTimeout(60000);
  other.on("pageerror", (error) => problems.push(error.message));
  other.on("console", (message) => { if (message.type() === "error") problems.push(message.text()); });
  const before = page;
  page = other;
  base = address;
  try {
    await run(before);
  } finally {
    page = before;
    base = served;
    await other.close();
  }
}

const kit = { test, at: () => page, serve, elsewhere, until, go, settled, quiet, rows, same, holds, hash, json, ofReport, files, shot, packages, problems };
where(kit);
when(kit);
frame(kit);
figures({ ...kit, cairn, folder });
counters(kit);
fleet(kit);
moments(kit);
frames(kit);
linked({ ...kit, cairn, folder });
transform(kit);
steady({ ...kit, cairn, folder, browser: () => browser });
sent({ ...kit, browser: () => browser, cairn, folder });
captures({ ...kit, cairn, folder });
keyboard(kit);
questions(kit);

test("a page in one file shows the same figures as the server", async () => {
  const name = files.includes("stream.cairn") ? "stream.cairn" : "lua.cairn";
  execFileSync(cairn, ["report", name, "--html", "sent.html"], { cwd: folder });
  await elsewhere("file://" + join(folder, "sent.html"), async (kept) => {
    for (const [where, sort] of [["self", "self"], ["overall", "total"]]) {
      await go(`${where}?metric=ticks`);
      await settled("tbody tr[data-block]");
      same(await rows("tbody tr[data-block]", ["self", "inclusive", "calls"]), ofReport(name, "--metric", "ticks", "--top", "100", "--sort", sort), where);
    }
    // The page computes the same answers as the server.
    const ask = (where) => kept.evaluate(async (route) => (await fetch("api/" + route)).json(), where);
    const number = files.indexOf(name);
    const first = ofReport(name, "--metric", "ticks", "--top", "5").filter(([id]) => id);
    const second = json("report", "--json", name, "--metric", "ticks", "--focus", "#" + first[0][0]).sequence.before[0].block.id;
    await page.waitForFunction(() => window.cairnAsk);
    const questions = [];
    for (const narrowed of ["", `focus=%23${first[0][0]}`, `focus=%23${second},%23${first[0][0]}`, `drop=%23${first[0][0]}`, `focus=%23${first[1][0]}&drop=%23${first[2][0]}`,
      ...["merge", "merge-file", "collapse", "collapse-file", "focus-file"].map((kind) => `transform=${kind}:%23${first[1][0]}`),
      `transform=merge:%23${first[2][0]}&transform=collapse:%23${first[1][0]}&focus=%23${first[0][0]}`])
      questions.push(...["flame?width=900", "flame?width=900&levels=3", "flame?width=300&callers=1", "graph?nodes=30", "sequences?top=20", "match?text=a", "report?view=flat&top=50", ...(/(^|&)focus=/.test(narrowed) ? ["steps?top=1", "report?top=40"] : [])].map((one) => one + (narrowed ? "&" + narrowed : "") + "&metric=ticks"));
    for (const question of questions) {
      const theirs = await ask(question + "&file=" + number);
      const mine = await page.evaluate((one) => window.cairnAsk(one), question);
      const part = (answer) => answer.flat || answer.sequence || (answer.rows && canonical(answer)) || answer.nodes || answer.sequences || answer;
      same(plain(part(mine)), plain(part(theirs)), question);
      if (question.includes("levels=")) same([mine.levels, mine.asked], [theirs.levels, theirs.asked], "levels");
      if (theirs.arrows) same(new Set(mine.arrows.map((a) => JSON.stringify(a))).size, theirs.arrows.length, "arrows");
    }
  });
});

// Contexts of a part are numbered anew, so they are compared by path.
function canonical(flame) {
  const paths = [];
  return flame.rows.map((row, i) => {
    paths[i] = (row[0] < 0 ? "" : paths[row[0]]) + "/" + row[2];
    return [paths[i], ...row.slice(3)];
  }).sort((a, b) => (a[0] < b[0] ? -1 : 1));
}

// Sorts members, and drops intervals, which only the server has.
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).filter(([key]) => key !== "interval").sort().map(([key, one]) => [key, plain(one)]));
  return value;
}

const server = await serve(files, "--source", process.env.SOURCES || ".");
const served = base = server.address;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: process.env.DARK ? "dark" : "light" });
page.setDefaultTimeout(Number(process.env.PATIENCE || 60000));
page.on("pageerror", (error) => problems.push(error.message));
page.on("console", (message) => { if (message.type() === "error") problems.push(message.text()); });
page.on("request", (request) => { if (!request.url().startsWith(served) && !request.url().startsWith("data:")) problems.push("asked for " + request.url()); });
const chosen = tests.filter(([name]) => name.includes(process.env.ONLY || ""));
console.log(`1..${chosen.length + 1}`);
let number = 0, failed = 0;
for (const [name, run] of chosen) {
  number++;
  try {
    await run();
    console.log(`ok ${number} - ${name}`);
  } catch (error) {
    failed++;
    console.log(`# ${String(error.message).slice(0, 1500).replace(/\n/g, "\n# ")}\nnot ok ${number} - ${name}`);
  }
}
for (const problem of problems) console.log("# " + problem);
console.log(`${problems.length ? "not ok" : "ok"} ${number + 1} - nothing is fetched from elsewhere, and the console is quiet`);
await browser.close();
server.stop();
process.exit(failed || problems.length ? 1 : 0);
