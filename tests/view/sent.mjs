// SPDX-License-Identifier: MIT
// A page in one file: its spans and sources equal those of the server and the commands.
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export default function sent({ test, at, go, same, holds, json, files, browser, cairn, folder, problems }) {
  const file = files.indexOf("jobs.cairn"), sources = process.env.SOURCES || ".";

  // Opens a page in one file and calls `use` with it and with a function that asks it questions.
  async function opened(name, use, where = folder) {
    const path = join(folder, "embedded.html");
    execFileSync(cairn, ["report", join(folder, name), "--html", path], { cwd: where });
    const other = await browser().newPage({ viewport: { width: 1280, height: 800 } });
    other.setDefaultTimeout(60000);
    other.on("pageerror", (error) => problems.push(error.message));
    other.on("request", (request) => { if (!request.url().startsWith("file://" + path) && !/^(data|blob):/.test(request.url())) problems.push("asked for " + request.url()); });
    try {
      await other.goto("file://" + path);
      await other.waitForFunction(() => window.cairnAsk);
      await use(other, (question) => other.evaluate((one) => window.cairnAsk(one).catch((error) => ({ error: error.message })), question), path);
    } finally {
      await other.close();
    }
  }
  const served = (question) => at().evaluate(async (one) => (await fetch("api/" + one)).json(), question);
  const show = async (page, hash) => {
    await page.evaluate((one) => { location.hash = one; }, "#/" + hash);
    await page.waitForFunction(() => document.documentElement.dataset.waiting === "0");
  };

  test("a page in one file has spans", async () => {
    await go(`spans?file=${file}`);
    await opened("jobs.cairn", async (page, ask) => {
      const spans = json("spans", "--json", "jobs.cairn", "--slowest=0").slowest;
      same((await ask("captures"))[0].spans, spans.length, "number of spans");
      const first = (await served(`iterations?file=${file}`)).block.id, longest = [...spans].sort((a, b) => b.duration - a.duration)[0];
      for (const question of ["spans?view=blocks&top=0", "spans?view=blocks&sort=count&top=2", "spans?view=slowest&top=7", `spans?view=slowest&block=%23${first}`, "spans?view=missing&top=100",
        "iterations", `iterations?of=${first}`, `explain?block=${first}`, "explain", "span-flame?width=20000", `span?id=${longest.id}`]) {
        const mine = await ask(question), theirs = await served(question + (question.includes("?") ? "&" : "?") + "file=" + file);
        for (const one of [mine, theirs]) delete one.file, delete one.capture; // its path
        same(mine, theirs, question);
      }
      const root = (await ask("span-flame")).rows[1][1], below = `span-flame?width=20000&root=${root}`;
      same((await ask(below)).rows, (await served(below + "&file=" + file)).rows, below);
      const chart = await ask("timeline?lanes=64");
      same(chart.bars.reduce((all, bar) => all + bar[6], 0), spans.length, "spans in bars");
      same(chart.bars.reduce((all, bar) => all + bar[4], 0), spans.reduce((all, span) => all + span.duration, 0), "time in bars");
      const middle = longest.start + Math.floor(longest.duration / 2), some = await ask(`timeline?from=${middle}&to=${middle + 1}`);
      same(some.bars.every((bar) => bar[2] <= middle && bar[3] >= middle) && some.bars.some((bar) => bar[7] === longest.id), true, "a window");
      for (const question of ["whatif", `spans?of=${first}&first=1&last=1`, `timeline?of=${first}`, "span?id=99999999"])
        holds((await ask(question)).error?.includes("cairn view"), question);
      await show(page, "timeline");
      await page.waitForSelector(".lanes canvas");
      await show(page, "missing");
      await page.waitForSelector("main table");
      await show(page, "iterations");
      await page.waitForSelector(".u-over, canvas");
      await show(page, "whatif");
      await page.waitForFunction(() => document.querySelector("main").textContent.includes("cairn view"));
    });
  });

  test("a page in one file has counters", async () => {
    const number = files.indexOf("frames.cairn");
    await go(`timeline?file=${number}`);
    await opened("frames.cairn", async (page, ask) => {
      const mine = await ask("counters");
      same([mine.tracks[0].points.length, mine], [45, await served(`counters?pixels=2000&file=${number}`)], "counters");
      await show(page, "timeline");
      await page.waitForSelector(".counter canvas");
    });
  });

  test("a page in one file has sources", async () => {
    await opened("lua.cairn", async (page, ask) => {
      const blocks = json("report", "--json", "lua.cairn", "--flat", "--top", "0").flat.map((row) => row.block);
      const block = blocks.find((one) => one.file.endsWith("main.lua")), text = readFileSync(join(sources, block.file), "utf8");
      same((await ask(`source?block=${block.id}`)).lines, text.replace(/\n$/, "").split("\n"), block.file);
      await show(page, `source?block=${block.id}`);
      await page.waitForSelector(`tr[data-line="${block.line}"]`);
      const none = blocks.find((one) => !one.file);
      if (none) same((await ask(`source?block=${none.id}`)).lines, null, "no file");
    }, sources);
  });

  test("a page in one file merges spans of a large capture into bars, and says so", async () => {
    const many = join(folder, "many.cairn"), maker = process.env.MAKE_SPANS;
    execFileSync(maker, [many, "60000"]);
    await opened("many.cairn", async (page, ask, path) => {
      const chart = await ask("timeline");
      const total = JSON.parse(execFileSync(cairn, ["spans", "--json", many], { maxBuffer: 1 << 26 })).spans;
      same(chart.bars.reduce((all, bar) => all + bar[6], 0), total, "all spans are in bars");
      holds(chart.bars.length <= 16000 && chart.finest > 0, chart.bars.length + " bars, " + chart.finest + " ns");
      holds(statSync(path).size < 3e6, statSync(path).size + " bytes");
      await show(page, "timeline");
      await page.waitForSelector('[data-what="finest"]');
    });
  });
}
