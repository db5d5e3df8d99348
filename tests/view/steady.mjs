// SPDX-License-Identifier: MIT
// Figures belong to the current selection, however it was reached: after narrowing and widening, in
// another metric, of one of two blocks with one name, of a block rather than its line.
import { spawn } from "node:child_process";

export default function steady({ cairn, folder, browser, test, at, go, settled, quiet, rows, same, holds, hash, json, ofReport, files, problems }) {
  const press = async (...keys) => { for (const key of keys) await at().keyboard.press(key); };
  const ask = (question) => at().evaluate(async (one) => (await fetch("api/" + one)).json(), question);
  const jobs = files.indexOf("jobs.cairn"), odd = files.indexOf("odd.cairn"), narrow = files.indexOf("narrow.txt");
  const top = (name) => ofReport(name, "--metric", "ticks", "--top", "5").map(([id]) => id).filter(Boolean);

  test("the share of search matches is right after narrowing, in another metric, and back", async () => {
    const shared = () => at().$eval('output [data-what="matches"]', (one) => [Number(one.dataset.value), Number(one.dataset.of)]);
    const all = json("report", "--json", "lua.cairn").metrics.find((one) => one.name === "ticks").total, id = top("lua.cairn")[1];
    await go(`flame?metric=ticks&focus=${id}&search=a`);
    await settled('output [data-what="matches"]');
    same((await shared())[1], json("report", "--json", "lua.cairn", "--metric", "ticks", "--focus", "#" + id).sequence.inclusive.ticks, "of the focused part");
    await at().click(".crumbs li:first-child a");
    await at().waitForFunction(() => !document.querySelector(".crumbs li.step"));
    await quiet();
    same((await shared())[1], all, "of all");
    holds((await shared())[0] <= all, "no more than all");
  });

  test("[missing] and [folded] are drawn inside narrow boxes, from the root and upside down", async () => {
    await go(`flame?file=${narrow}`);
    await settled(".flame canvas");
    for (const more of ["", "&callers=1"]) {
      const flame = await ask(`flame?file=${narrow}&width=600${more}`), names = flame.rows.map((row) => flame.blocks[row[2]].name);
      for (const name of ["[missing]", "[folded]"]) holds(names.includes(name), name + " is not in " + names);
      flame.rows.forEach((row, i) => holds(row[0] < i, "parents come first"));
    }
  });

  test("a zoom keeps its path in another metric, after a drop, and in a page in one file", async () => {
    await go("flame?metric=ticks");
    await settled(".flame canvas");
    await at().focus(".flame canvas");
    await press("ArrowDown", "ArrowDown", "ArrowDown", "Enter");
    await settled(".above button");
    const zoom = new URLSearchParams((await hash()).split("?")[1]).get("zoom"), path = zoom.split(".").map(Number);
    holds(path.length >= 2, zoom);
    const name = () => at().$eval(".details .name", (one) => one.textContent);
    await press("Home");
    await at().mouse.move(2, 2);
    const before = await name();
    await at().click('[aria-label="Metric"] a:has-text("calls")');
    await at().waitForFunction(() => !/metric=ticks/.test(location.hash));
    await quiet();
    same(await name(), before, "in another metric");
    same(new URLSearchParams((await hash()).split("?")[1]).get("zoom"), zoom, "the address");
    const block = (flame) => flame.rows[0][2];
    same(block(await ask(`flame?file=0&metric=ticks&zoom=${zoom}`)), path[path.length - 1], "the server's");
    const dropped = await ask(`flame?file=0&metric=ticks&zoom=${zoom}&drop=%23${path[path.length - 1]}`);
    same(dropped.zoom, path.slice(0, -1), "up to the last context that exists");
    same((await ask(`flame?file=0&metric=ticks&zoom=4294967295.1`)).zoom, [], "an unknown path");
  });

  test("explain covers the chosen block, not others with its name", async () => {
    const namesakes = json("spans", "--json", "odd.cairn", "--top", "0").blocks.filter((row) => row.block.name === "twin");
    same(namesakes.length, 2, "two of a name");
    for (const { block, count } of namesakes) {
      await go(`explain?file=${odd}&block=${block.id}`);
      await settled('[data-what="answer"]');
      same(await at().$eval("main select", (one) => one.value), String(block.id), "chosen");
      same((await ask(`explain?file=${odd}&block=${block.id}`)).count, count, "spans");
    }
  });

  test("the search filters every page with rows", async () => {
    const rowsOf = () => at().$$eval("main tbody tr:not(.section)", (all) => all.length), focus = top("lua.cairn")[1];
    for (const where of ["overall?", "self?", "sequences?", `sequence?focus=${focus}&`, "source?", "diff?metric=ticks&", `spans?file=${jobs}&`, `slowest?file=${jobs}&`, `iterations?file=${jobs}&`, `missing?file=${jobs}&`, `explain?file=${jobs}&`]) {
      await go(where);
      await settled("main tbody tr");
      const before = await rowsOf();
      await go(where + "search=zzzzzz");
      await quiet();
      const left = await rowsOf();
      holds(left < before && left <= 1, `${where}: ${left} of ${before} rows`);
    }
    await go(`whatif?file=${jobs}&search=zzzzzz`);
    await settled('[data-what="predicted"]');
    same((await at().$$("input[type=range]")).length, 0, "sliders");
    await go(`slowest?file=${jobs}&search=convert`);
    await settled("tr[data-span]");
    holds((await at().$$eval("tr[data-span] th", (all) => all.map((one) => one.textContent))).every((name) => /convert/.test(name)), "the slowest");
  });

  test("what-if: invalid input is not sent, other factors are kept, and gains are relative to the unchanged replay", async () => {
    const { block } = json("spans", "--json", "jobs.cairn").blocks.find((row) => row.block.name === "convert_image");
    await go(`whatif?file=${jobs}`);
    await settled('[data-what="effects"]');
    same((await at().$$('[data-what="change"]')).length, 0, "no change, no gain");
    const cores = 'label:has-text("cores") input';
    for (const [typed, taken] of [["5000", "4096"], ["2.5", "3"]]) {
      await at().fill(cores, typed);
      await press("Tab");
      await at().waitForFunction((value) => location.hash.includes("cores=" + value), taken);
      await settled('[data-what="change"]');
      same(await at().$eval(cores, (one) => one.value), taken, "cores");
    }
    await go(`whatif?file=${jobs}&cores=99999`);
    await settled(".problem");
    same((await at().$$(cores)).length, 1, "the field stays");
    problems.splice(0, problems.length, ...problems.filter((text) => !/status of 400/.test(text))); // as was asked for
    await go(`whatif?file=${jobs}&speed=${block.id}:1000`);
    await settled('[data-what="change"]');
    holds((await at().$$eval(".slider output", (all) => all.map((one) => one.textContent))).includes("1,000 × faster"), "text of the slider");
  });

  test("blocks at one line have separate rows", async () => {
    const flat = json("report", "--json", "lua.cairn", "--flat", "--metric", "ticks", "--top", "0").flat, { block } = flat.find((row) => row.block.file && row.block.line > 0);
    await go(`source?metric=ticks&block=${block.id}`);
    await settled("tr.here");
    const shown = await rows(".code tr[data-block]", ["self", "inclusive", "calls"]);
    const wanted = flat.filter((row) => row.block.file === block.file).map((row) => [row.block.id, row.self.ticks, row.inclusive.ticks, row.calls]);
    const byBlock = (a, b) => a[0] - b[0];
    same(shown.filter((row) => row[1] || row[2] || row[3]).sort(byBlock), wanted.sort(byBlock), "blocks");
  });

  test("the focus stays at its place after a row or a box is dropped", async () => {
    const focused = () => at().evaluate(() => document.activeElement.closest("tr")?.dataset.block || document.activeElement.tagName);
    await go("overall?metric=ticks");
    await settled("tbody tr[data-block]");
    await press("j", "j", "j");
    const ids = await at().$$eval("tbody tr[data-block]", (all) => all.map((one) => one.dataset.block)), before = await focused();
    holds(ids.includes(before), before);
    await press("d");
    await settled(".crumbs li.drop");
    await at().waitForFunction((id) => { const row = document.activeElement.closest("tr"); return row && row.dataset.block !== id; }, before);
    await go("flame?metric=ticks");
    await settled(".flame canvas");
    await at().focus(".flame canvas");
    await press("ArrowDown", "ArrowDown", "d");
    await settled(".crumbs li.drop");
    same(await focused(), "CANVAS", "in the flame graph");
    await press("ArrowDown", "ArrowDown", "c");
    await at().waitForFunction(() => /callers=1/.test(location.hash));
    await quiet();
    same(await focused(), "CANVAS", "among its callers");
    await go(`flame?file=${files.indexOf("imported.txt")}`);
    await settled(".flame canvas");
    await press("g", "t");
    await quiet();
    holds(/^#\/flame/.test(await hash()), "without spans there is no timeline");
  });

  test("large numbers of a program keep all digits; NaN and infinities are shown", async () => {
    const { block } = json("spans", "--json", "odd.cairn", "--top", "0").blocks.find((row) => row.block.name === "twin" && row.count === 12);
    await go(`slowest?file=${odd}&search=${encodeURIComponent("twin")}`);
    await settled("tr[data-span]");
    const text = await at().textContent("main table");
    for (const wanted of ["twin #9007199254740993", "twin #9007199254741015", "request 1311768467463790321", "request 1311768467463790332", "ratio nan", "ratio -inf"]) holds(text.includes(wanted), wanted + " is not in it");
    await go(`iterations?file=${odd}&of=${block.id}&first=9007199254740995&last=9007199254740997`);
    await settled("tr[data-span]");
    same(await at().$$eval("tr[data-span] th", (all) => all.map((one) => one.textContent).sort()), ["twin #9007199254740995", "twin #9007199254740997"], "chosen exactly");
    same(await at().$eval("input[name=first]", (one) => one.value), "9007199254740995", "the field");
    same((await ask(`timeline?file=${odd}&of=${block.id}&first=9007199254740995&last=9007199254740995`)).bars.map((bar) => bar[8]).includes("9007199254740995"), true, "as text");
  });

  test("with chosen iterations the timeline shows these, with their ancestors", async () => {
    const { block } = json("spans", "--json", "jobs.cairn").blocks.find((row) => row.block.name === "convert_image"), items = `file=${jobs}&of=${block.id}&first=1&last=1`;
    await go("timeline?" + items);
    await settled(".lanes canvas");
    holds(/\b2 spans selected/.test(await at().textContent('[data-what="window"]')), await at().textContent('[data-what="window"]'));
    await go("slowest?" + items);
    await settled("tr[data-span]");
    holds((await at().$$eval("tr[data-span] td.path", (all) => all.map((one) => one.textContent))).every(Boolean), "within");
  });

  test("fields accept times and reject other text", async () => {
    await go(`iterations?file=${jobs}`);
    await settled("form.range");
    await at().fill("input[name=shortest]", "soon");
    await at().click("form.range button[type=submit]");
    same(await at().$eval("input[name=shortest]", (one) => one.validity.valid), false, "said");
    holds(!/of=/.test(await hash()), "not taken");
    await at().fill("input[name=shortest]", "0.5 ms");
    await at().click("form.range button[type=submit]");
    await at().waitForFunction(() => /shortest=500000(&|$)/.test(location.hash));
  });

  test("invalid addresses lead to valid pages", async () => {
    for (const where of ["flame?file=-1", "flame?file=0.5", "flame?drop=", "flame?focus=x"]) {
      await at().goto("about:blank");
      await go(where);
      await settled(".flame canvas");
      same((await at().$$(".crumbs li.drop, .crumbs li.step, .problem")).length, 0, where);
    }
    for (const [items, seen] of [["from=5&to=1", "1 ns to 101 ns"], ["from=-5&to=1000", "0 to 1"]]) {
      await go(`timeline?file=${jobs}&${items}`);
      await settled(".lanes canvas");
      const text = (await at().textContent('[data-what="window"]')).replace(/\u2009/g, " ");
      holds(text.startsWith(seen) && !/-\d/.test(text), items + ": " + text);
    }
  });

  test("every page shows that a file is truncated", async () => {
    const file = files.indexOf("cut.cairn");
    for (const where of ["flame", "overall", "sequences"]) {
      await go(`${where}?file=${file}`);
      await settled('.badge[data-badge="truncated"]');
    }
    await go("flame");
    await settled(".flame canvas");
    same((await at().$$(".badge")).length, 0, "no badge for a complete file");
  });

  test("the header of a comparison names both files", async () => {
    const other = files.indexOf("jobs.cairn"), of = (name) => json("report", "--json", name).metrics.filter((one) => one.total).map((one) => one.name);
    await go(`diff?before=0&after=${other}&search=main`);
    await settled("table.sides");
    const shown = await at().$$eval('[aria-label="Metric"] a, [aria-label="Metric"] option', (all) => all.map((one) => one.textContent));
    const both = of("lua.cairn").filter((name) => of("jobs.cairn").includes(name));
    same(shown, both.length > 1 ? both : [], "metrics");
    same((await at().$$('output [data-what="matches"]')).length, 0, "no share of one file");
    same(await at().textContent("header .pick"), "lua.cairn → jobs.cairn", "their names");
    await go("diff?before=99");
    await settled("table.sides");
    same((await at().$$(".problem")).length, 0, "an unknown file");
  });

  test("long keys and values fit, and right-to-left text is isolated", async () => {
    const fits = () => at().evaluate(() => document.documentElement.scrollWidth <= innerWidth);
    await go(`slowest?file=${odd}&search=twin`);
    await settled("tr[data-span]");
    holds(await fits(), "the slowest");
    holds(await at().$$eval(".attributes bdi, .attributes i", (all) => all.length > 9 && all.every((one) => getComputedStyle(one).unicodeBidi.includes("isolate"))), "isolated");
    await at().click("tr[data-span] a.name");
    await settled(".span-card");
    holds(await at().$eval('.span-card dd[data-attribute="http.request.header.content-type"]', (one) => one.clientWidth) > 90, "width of the value");
    holds(await fits(), "the span");
  });

  test("table heads stay below the header, whatever its height", async () => {
    for (const width of [1280, 900]) {
      await at().setViewportSize({ width, height: 800 });
      await go("overall?metric=ticks&x=" + width);
      await settled("tbody tr[data-block]");
      await at().evaluate(() => scrollTo(0, 700));
      await at().waitForFunction(() => {
        const [head, table] = ["header", "thead th"].map((one) => document.querySelector(one).getBoundingClientRect());
        return scrollY > 300 && Math.abs(head.bottom - table.top) <= 1.5;
      });
    }
    await at().setViewportSize({ width: 1280, height: 800 });
  });

  test("upside down, the root is visible after a zoom, after going back, and in another file", async () => {
    const tall = files.indexOf("tall.txt"), below = () => at().waitForFunction(() => { const one = document.querySelector(".boxes"); return one && one.scrollHeight - one.clientHeight - one.scrollTop < 2; });
    await go("flame?up=1");
    await settled(".flame canvas");
    await go(`flame?file=${tall}&up=1`);
    await settled(".flame canvas");
    await below();
    await at().$eval(".boxes", (one) => { one.scrollTop = 0; });
    await quiet();
    const box = await (await at().$(".boxes")).boundingBox();
    await at().mouse.click(box.x + box.width / 3, box.y + box.height / 2);
    await settled(".above button");
    await below();
    await at().goBack();
    await at().waitForFunction(() => !document.querySelector(".above button"));
    await below();
  });

  test("dragging a box scrolls the call graph and does not follow the box's link", async () => {
    await go("graph?metric=ticks&nodes=60");
    await settled(".graph a.node");
    await at().click('.zoom button[aria-label="Larger"]');
    await at().click('.zoom button[aria-label="Larger"]');
    await quiet();
    const frame = await (await at().$(".graph")).boundingBox();
    const node = await at().$$eval("a.node", (all, [left, top, bottom, right]) => all.map((one) => one.getBoundingClientRect()).filter((one) => one.x > left && one.right < right && one.y > top + 150 && one.bottom < bottom).map((one) => [one.x + one.width / 2, one.y + one.height / 2])[0], [frame.x, frame.y, frame.y + frame.height, frame.x + frame.width - 150]);
    const before = await at().$eval(".graph", (one) => one.scrollTop), where = await hash();
    await at().mouse.move(...node);
    await at().mouse.down();
    await at().mouse.move(node[0], node[1] - 120, { steps: 8 });
    await at().mouse.up();
    same(await at().$eval(".graph", (one) => Math.round(one.scrollTop)), Math.min(Math.round(before) + 120, await at().$eval(".graph", (one) => one.scrollHeight - one.clientHeight)), "moved");
    same(await hash(), where, "not followed");
  });

  test("the page reports the end of its server, and the next server has the same theme", async () => {
    const start = async () => {
      const process = spawn(cairn, ["view", "lua.cairn"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
      return [process, String(await new Promise((done) => process.stdout.once("data", done))).trim()];
    };
    const tab = await browser().newPage({ colorScheme: "light" });
    tab.setDefaultTimeout(60000);
    let [server, address] = await start();
    try {
      await tab.goto(address + "#/overall");
      await tab.waitForSelector("tbody tr[data-block]");
      const paper = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
      while ((await tab.evaluate(() => document.documentElement.dataset.theme)) !== "dark") await tab.click('button[aria-label$=" theme"]');
      const dark = await paper();
      server.kill("SIGTERM");
      await tab.waitForFunction(() => document.querySelector(".badge")?.textContent.includes("cairn view has ended"));
      holds((await tab.textContent(".problem")).includes("start cairn view again"), "advice");
      same((await tab.$$(".live")).length, 0, "not live");
      [server, address] = await start();
      await tab.goto(address + "#/overall");
      await tab.waitForSelector("tbody tr[data-block]");
      same(await paper(), dark, "at another port");
    } finally {
      server.kill("SIGTERM");
      await tab.close();
    }
  });

  test("the default page is the flame graph, or the timeline if only calls were counted", async () => {
    const first = (name) => json("report", "--json", name).metrics.filter((one) => one.total).map((one) => one.name);
    for (const [file, name] of files.entries()) {
      if (!["lua.cairn", "jobs.cairn", "deep.cairn", "odd.cairn"].includes(name)) continue;
      const calls = first(name).join() === "calls", spans = (await ask("captures"))[file].spans > 0;
      await at().goto("about:blank");
      await go(`?file=${file}`);
      await settled(calls && spans ? ".lanes canvas" : ".flame canvas");
    }
  });

  test("lanes are as tall as their spans, and the axis stays", async () => {
    await go(`timeline?file=${jobs}`);
    await settled(".lanes canvas");
    const chart = await ask(`timeline?file=${jobs}`);
    same(await at().$eval(".lanes canvas", (one) => one.clientHeight), chart.lanes.reduce((all, lane) => all + 9 + 19 * Math.max(1, lane.rows), 4), "height");
    same(await at().$eval(".lanes canvas.axis", (one) => getComputedStyle(one).position), "sticky", "the axis");
  });

  test("a flame graph has a tooltip", async () => {
    await go("flame?metric=ticks");
    await settled(".flame canvas");
    const box = await (await at().$(".flame canvas")).boundingBox();
    await at().mouse.move(box.x + 20, box.y + 21 + 10);
    await at().waitForSelector(".bubble");
    same(await at().$eval(".bubble b", (one) => one.textContent), await at().$eval(".details .name", (one) => one.textContent), "the same box");
    await at().mouse.move(2, 2);
    await at().waitForSelector(".bubble", { state: "detached" });
  });
}
