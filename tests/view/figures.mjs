// SPDX-License-Identifier: MIT
// Figures that cannot be misread: counts of a window, uncertainty, empty results; and small screens.
import { execFileSync } from "node:child_process";
import { join } from "node:path";

export default function figures({ test, at, go, settled, quiet, same, holds, json, files, shot, cairn, folder, elsewhere }) {
  const jobs = files.indexOf("jobs.cairn");
  const sql = (text) => json("query", "--json", "jobs.cairn", text);
  const number = (rows) => Number(Object.values(rows[0] ?? rows.rows[0])[0]);
  const value = (what) => at().textContent(`[data-what="${what}"]`).then((text) => Number(text.replace(/\D/g, "")));

  test("the timeline counts the spans and hand-offs of its window, drawn or not", async () => {
    const [{ end }] = json("spans", "--json", "jobs.cairn", "--slowest=1").slowest.map((one) => ({ end: one.start + one.duration }));
    for (const [query, from, to] of [["", 0, 1e15], [`&from=0&to=${Math.round(end / 3)}`, 0, Math.round(end / 3)]]) {
      await go(`timeline?file=${jobs}${query}`);
      await settled(".lanes canvas");
      const inside = `start < ${to} and "end" >= ${from}`;
      same(await value("spans"), number(sql(`select count(*) from spans where ${inside}`)), "spans" + query);
      same(await value("handoffs"), number(sql(`select count(*) from spans where handed_off and ${inside}`)), "hand-offs" + query);
    }
  });

  test("self times of a lane add up to no more than its busy time", async () => {
    await go(`slowest?file=${jobs}`);
    await settled("tr[data-span]");
    const { slowest } = await at().evaluate(async (file) => (await fetch(`api/spans?file=${file}&view=slowest&top=0`)).json(), jobs);
    const lanes = new Map();
    for (const span of slowest) lanes.set(span.lane, (lanes.get(span.lane) || 0) + span.self);
    const whole = json("spans", "--json", "jobs.cairn", "--top", "0").length;
    for (const [lane, self] of lanes) holds(self <= whole, `lane ${lane}: ${self} of ${whole}`);
  });

  test("going back restores the search box", async () => {
    await go("functions?metric=ticks&search=sort");
    await settled("tbody tr");
    await go("functions?metric=ticks&search=");
    await settled("tbody tr");
    await at().focus("#search");
    await at().goBack();
    await at().waitForFunction(() => /search=sort/.test(location.hash));
    await quiet();
    same(await at().inputValue("#search"), "sort", "the box");
    await at().evaluate(() => document.activeElement.blur());
  });

  test("n goes to the matches of the search on the timeline", async () => {
    await go(`timeline?file=${jobs}&search=foo`);
    await settled(".lanes canvas");
    await at().focus(".lanes canvas");
    const seen = [];
    for (let i = 0; i < 3; i++) {
      await at().keyboard.press("n");
      await settled(".span-card");
      seen.push(await at().textContent(".span-card h2"));
    }
    holds(seen.every((name) => /foo/.test(name)), "visited " + seen.join(", "));
  });

  test("details are of the selection, wherever the pointer is", async () => {
    await go("flame?metric=ticks");
    await settled(".flame canvas");
    await at().focus(".flame canvas");
    for (const key of ["ArrowDown", "ArrowDown"]) await at().keyboard.press(key);
    await quiet();
    const shown = () => at().getAttribute(".details", "data-block"), chosen = await shown(), box = await at().locator(".flame canvas").boundingBox();
    holds(chosen !== "0", "a box is selected");
    await at().mouse.move(box.x + 200, box.y + 8);
    await at().waitForSelector(".bubble");
    same(await shown(), chosen, "the flame graph's details, with the pointer on the root");
    await go(`timeline?file=${jobs}&span=3`);
    await settled(".span-card");
    const lanes = await at().locator('.lanes canvas[role="application"]').boundingBox();
    for (let y = 0; y < lanes.height; y += 9) {
      await at().mouse.move(lanes.x + lanes.width / 2, lanes.y + y);
      await quiet();
      same(await at().getAttribute(".span-card", "data-span"), "3", "the timeline's details, with the pointer at " + y);
    }
  });

  test("what was not recorded is not drawn as a full box", async () => {
    await go("flame?focus=0&metric=ticks&drop=0");
    await at().waitForSelector('[data-what="nothing"]');
    holds(!(await at().$(".flame canvas")), "no box");
  });

  test("the number of functions is that of the report, and every page says how it was measured", async () => {
    await go(`flame?file=${jobs}`);
    await settled(".flame canvas");
    const measured = await at().evaluate(async (file) => (await fetch(`api/measured?file=${file}`)).json(), jobs);
    const text = json("report", "--json", "jobs.cairn");
    same(measured.functions, text.blocks - 1, "functions, without the root");
    for (const page of ["flame", "functions", "paths", "callers", "graph", "source", "timeline", "span-tree", "spans", "slowest", "explain", "missing"]) {
      await go(`${page}?file=${jobs}`);
      await settled('[data-what="measured"] [data-line="clocks"]');
      holds(/7 samples|\d+ samples?/.test(await at().textContent('[data-line="clocks"]')), page + ": samples");
      holds(await at().$('[data-line="cost"]'), page + ": cost");
    }
  });

  test("a page in one file of a capture without spans says so", async () => {
    execFileSync(cairn, ["report", "lua.cairn", "--html", "spanless.html"], { cwd: folder });
    await elsewhere("file://" + join(folder, "spanless.html"), async () => {
      await go("flame");
      await settled(".flame canvas");
      holds((await at().textContent("nav.menu")).includes("no spans in this page"), "the menu");
    });
  });

  test("figures of few samples have a mark on every page of the profile", async () => {
    await go(`functions?file=${jobs}&metric=wall`);
    await settled("tbody tr[data-block]");
    const { flat } = json("report", "--json", "jobs.cairn", "--flat", "--metric", "wall", "--top", "0");
    const wanted = flat.reduce((sum, { interval, self, inclusive }) => sum + Number(Boolean(interval?.self && self.wall)) + Number(Boolean(interval?.inclusive && inclusive.wall)), 0);
    same(await at().$$eval("td.cost .likely", (all) => all.length), wanted, "marks");
    await go(`graph?file=${jobs}&metric=wall`);
    await settled("a.node");
    const [nodes, files] = await at().evaluate(async (file) => Promise.all([`graph?file=${file}&metric=wall&nodes=30`, "captures"].map(async (one) => (await fetch("api/" + one)).json())), jobs);
    const { sampling } = files[jobs].metrics.find((one) => one.name === "wall");
    for (const node of nodes.nodes)
      same(/~/.test(await at().textContent(`a.node[data-block="${node.block.id}"] text:last-child`)), Math.max(node.inclusive / sampling.unit, sampling.error && (node.inclusive / sampling.error) ** 2) < 100, "the mark of " + node.block.name);
  });

  test("what-if states the error of its model", async () => {
    await go(`whatif?file=${jobs}`);
    await settled('[data-what="effects"]');
    const its = json("whatif", "--json", "jobs.cairn");
    const error = await at().$eval('[data-what="error"]', (one) => Number(one.dataset.value));
    same(error, Math.abs(its.replayed - its.recorded) / its.recorded, "error");
  });

  test("explain says what its figures are of", async () => {
    await go(`explain?file=${jobs}`);
    await settled('[data-what="answer"]');
    const parts = await at().$$eval("table:first-of-type tbody th", (all) => all.map((one) => one.textContent));
    holds(parts.length && parts.every((one) => /, per (span|call)$|^overlap/.test(one)), parts.join("; "));
  });

  test("the call tree expands by keys, with the figures of the report", async () => {
    const tree = json("report", "--json", "lua.cairn", "--tree", "--metric", "ticks", "--top", "0", "--threshold", "0").tree;
    const below = (parent) => tree.filter((one) => one.parent === parent && one.inclusive.ticks).map((one) => [one.block.id, one.inclusive.ticks, one.self.ticks]).sort((a, b) => b[1] - a[1]);
    const root = tree.find((one) => one.parent === null), first = tree.find((one) => one.parent === root.context && one.block.id === below(root.context)[0][0]);
    const shown = () => at().$$eval("tr[data-row]", (all) => all.map((row) => [Number(row.dataset.depth), Number(row.dataset.block), ...["inclusive", "self"].map((what) => Number(row.querySelector(`[data-what="${what}"]`).dataset.value))]));
    const children = async (depth, block) => {
      const all = await shown(), at = all.findIndex((row) => row[0] === depth && row[1] === block), its = [];
      for (let i = at + 1; i < all.length && all[i][0] > depth; i++) if (all[i][0] === depth + 1) its.push(all[i].slice(1));
      return its;
    };
    await go("tree?metric=ticks");
    await settled("tr[data-row]");
    await shot("tree");
    const wide = (rows) => rows.filter((row) => row[1] > root.inclusive.ticks / 1000);
    same(wide(await children(0, 0)), wide(below(root.context)), "below the root");
    same(wide(await children(1, first.block.id)), wide(below(first.context)), "below the first");
    const row = `tr[data-depth="1"][data-block="${first.block.id}"]`;
    await at().focus(row + " a.name");
    await at().keyboard.press("ArrowLeft");
    await at().waitForSelector(row + '[aria-expanded="false"]');
    same(await children(1, first.block.id), [], "collapsed");
    await at().keyboard.press("ArrowRight");
    await at().waitForSelector(row + '[aria-expanded="true"]');
    const before = (await shown()).length;
    await at().keyboard.press("*");
    await at().waitForFunction((count) => document.querySelectorAll("tr[data-row]").length > count, before);
    await at().keyboard.press("ArrowDown");
    same(await at().evaluate(() => Number(document.activeElement.closest("tr").dataset.depth)), 2, "down");
    await go("tree?metric=ticks&callers=1");
    await settled('tr[data-row="0"]');
    const flat = json("report", "--json", "lua.cairn", "--flat", "--metric", "ticks", "--top", "3", "--sort", "self").flat.map((one) => [one.block.id, one.self.ticks]);
    const bottom = await at().$$eval('tr[data-depth="1"]', (all) => all.slice(0, 3).map((one) => [Number(one.dataset.block), Number(one.querySelector('[data-what="inclusive"]').dataset.value)]));
    same(bottom, flat, "bottom-up");
  });

  test("a flame graph is coloured by file, with the files' shares", async () => {
    const sums = new Map();
    const { flat, metrics } = json("report", "--json", "lua.cairn", "--flat", "--metric", "ticks", "--top", "0");
    for (const { block, self } of flat) if (block.id && block.file) sums.set(block.file, (sums.get(block.file) || 0) + self.ticks);
    const wanted = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 3), whole = metrics.find((one) => one.name === "ticks").total;
    await go("flame?metric=ticks&color=file");
    await settled(".file-colors li");
    await shot("flame-files");
    const shown = await at().$$eval(".file-colors li[title]", (all) => all.map((one) => [one.title, parseFloat(one.querySelector(".dim").textContent.replace(/[<\s]/g, "")), one.querySelector("i").style.background]));
    same(shown.slice(0, 3).map(([file]) => file), wanted.map(([file]) => file), "files");
    for (const [i, [, cost]] of wanted.entries()) holds(Math.abs(shown[i][1] - (100 * cost) / whole) < 1, shown[i].join(" "));
    same(new Set(shown.map((one) => one[2])).size, shown.length, "distinct colours");
  });

  test("the slowest spans have whole names and no empty column", async () => {
    await go(`slowest?file=${jobs}`);
    await settled("tr[data-span]");
    const lines = (selector) => at().$$eval(selector, (all) => all.filter((one) => one.getBoundingClientRect().height > 30).map((one) => one.textContent));
    same([await lines("tr[data-span] a.name"), await lines("tr[data-span] td.lane")], [[], []], "names of several lines");
    await go(`slowest?file=${files.indexOf("frames.cairn")}`);
    await settled("tr[data-span]");
    same(await at().$$("td.attributes"), [], "attributes of spans without any");
  });

  test("on a phone the list of pages opens and closes, and pages begin in the upper third", async () => {
    const size = at().viewportSize();
    await at().setViewportSize({ width: 390, height: 800 });
    try {
      await go(`timeline?file=${jobs}`);
      await settled(".lanes canvas");
      holds(await at().$eval("main", (one) => one.getBoundingClientRect().top < 800 / 3), "the page begins in the upper third");
      same(await at().isVisible('.menu a[data-page="spans"]'), false, "the list is closed");
      await at().click(".menu .turn");
      await at().click('.menu a[data-page="spans"]');
      await settled("tr[data-block]");
      same([await at().isVisible('.menu a[data-page="spans"]'), await at().textContent(".menu .turn")].map(String), ["false", "Spans▾"], "closed again");
    } finally {
      await at().setViewportSize(size);
    }
  });

  test("at 390 pixels no page is wider than the screen, and targets are 24 pixels tall", async () => {
    const size = at().viewportSize();
    await at().setViewportSize({ width: 390, height: 800 });
    try {
      for (const page of ["flame?metric=ticks", "functions?metric=ticks", "paths?metric=ticks", "tree?metric=ticks", "callers?metric=ticks&focus=5", "graph?", "source?", `timeline?file=${jobs}&span=3`, `spans?file=${jobs}`, `slowest?file=${jobs}`, `iterations?file=${jobs}`, `explain?file=${jobs}`, `whatif?file=${jobs}`, `missing?file=${jobs}`, `frames?file=${files.indexOf("frames.cairn")}&input=1&result=3`, "diff?"]) {
        await go(page);
        await settled('[data-what="measured"], table.sides');
        await shot("phone-" + page.split("?")[0]);
        same(await at().evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, page + ": fits");
        const small = await at().$$eval("a, button, select, input, summary", (all) => all.filter((one) => {
          const box = one.getBoundingClientRect();
          return box.width && !one.closest("svg, .unseen, .code") && !one.classList.contains("skip") && (box.height < 23.5 || box.width < 23.5);
        }).map((one) => one.outerHTML.slice(0, 90)));
        same(small.slice(0, 3), [], page + ": small targets: " + small.length);
        const cut = await at().$$eval("main table", (all) => all.filter((one) => {
          for (let up = one; up && up.tagName !== "MAIN"; up = up.parentElement)
            if (/auto|scroll/.test(getComputedStyle(up).overflowX)) return false;
          return one.getBoundingClientRect().right > innerWidth;
        }).length);
        same(cut, 0, page + ": tables cut");
        if (page.startsWith("slowest")) // no name is broken into more than two lines
          holds(await at().$$eval("tr[data-span] a.name", (all) => all.every((one) => one.getBoundingClientRect().height < 60)), page + ": names are readable");
        const outside = await at().$$eval("main :is(table.blocks, .whatif table) :is(th, td)", (all) => all.filter((one) => {
          const box = one.getBoundingClientRect();
          return box.width > 1 && (box.left < 0 || box.right > innerWidth || one.scrollWidth > one.clientWidth + 1);
        }).map((one) => one.outerHTML.slice(0, 120)));
        same(outside.slice(0, 3), [], page + ": cells that need scrolling");
      }
    } finally {
      await at().setViewportSize(size);
    }
  });
}
