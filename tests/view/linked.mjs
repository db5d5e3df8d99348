// SPDX-License-Identifier: MIT
// Views that are linked: the functions beside a flame graph, a range of the timeline, the order of lanes.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

export default function linked({ test, at, go, settled, quiet, rows, same, holds, hash, json, ofReport, files, shot, problems, cairn, folder }) {
  const chosen = () => at().$$eval(".beside-table tr.here", (all) => all.map((row) => Number(row.dataset.block)));
  const value = (selector) => at().$eval(selector, (one) => Number(one.dataset.value));

  test("functions stand beside the flame graph, and a selection holds in both", async () => {
    const wanted = ofReport("lua.cairn", "--metric", "ticks", "--top", "100", "--sort", "total");
    await go("flame?file=0&metric=ticks");
    await settled(".flame canvas");
    await at().click("text=functions beside it");
    await settled(".beside-table tr[data-block]");
    same((await rows(".beside-table tr[data-block]", ["self", "inclusive"])).slice(0, 100), wanted.map(([id, self, total]) => [id, self, total]), "the table");
    // From the table: the function's boxes are highlighted, others fade.
    const [id] = wanted.filter(([one]) => one)[4];
    await at().click(`.beside-table tr[data-block="${id}"] button`);
    await settled("section[data-flame]");
    same(await chosen(), [id], "the row");
    holds((await hash()).includes("fn=" + id), await hash());
    const { sequence } = json("report", "--json", "lua.cairn", "--metric", "ticks", "--focus", "#" + id);
    for (const side of ["callers", "callees"])
      same(await value(`section[data-flame="${side}-zoom"] .details [data-what="inclusive"]`), sequence.inclusive.ticks, side);
    await shot("linked");
    // From the flame graph: the box under the pointer.
    const box = await (await at().$(".with-table .flame canvas")).boundingBox();
    await at().mouse.click(box.x + 40, box.y + 2 * 21 + 10);
    await quiet();
    const name = await at().$eval(".with-table .details .name", (one) => one.textContent);
    const block = ofReport("lua.cairn", "--metric", "ticks", "--top", "0").map(([one]) => one);
    const [selected] = await chosen();
    holds(block.includes(selected), "a function is selected: " + selected);
    same(await at().$eval(".beside-table tr.here .name", (one) => one.textContent), name, "the selected box's function");
    holds(selected !== id || name === sequence.blocks?.[0]?.name, "another one");
  });

  const rest = async (key) => new URLSearchParams((await hash()).split("?")[1]).get(key);
  // The figures of SQL on the spans in a range of time, cut off at its ends.
  const clipped = (since, until) => json("query", "jobs.cairn", "--json",
    `select block, count(*), sum(min(start + duration, ${until}) - max(start, ${since})) from spans where start < ${until} and start + duration > ${since} group by block`)
    .rows.sort((a, b) => a[0] - b[0]);
  const panel = async () => {
    await settled(".range-panel tr[data-block]");
    const found = await rows(".range-panel tr[data-block]", ["count", "total", "self"]);
    return found.sort((a, b) => a[0] - b[0]);
  };

  test("a range of the timeline has a flame graph and durations of its own", async () => {
    const number = files.indexOf("jobs.cairn");
    await go("timeline?file=" + number);
    await settled(".lanes canvas");
    await at().focus(".lanes > canvas[role=application]");
    for (const key of ["+", "+", "ArrowRight", "r"]) await at().keyboard.press(key);
    await at().waitForSelector(".range-panel");
    for (const by of ["keys", "the pointer"]) {
      if (by === "the pointer") {
        await at().keyboard.press("Home");
        await quiet();
        const kept = await rest("range");
        await at().click("text=select a range");
        const box = await (await at().$(".lanes > canvas[role=application]")).boundingBox();
        await at().mouse.move(box.x + 300, box.y + 10);
        await at().mouse.down();
        await at().mouse.move(box.x + 420, box.y + 12, { steps: 4 });
        await at().mouse.up();
        await quiet();
        holds((await rest("range")) !== kept, "another range than " + kept);
      }
      const [since, until] = (await rest("range")).split("-").map(Number), length = json("query", "jobs.cairn", "--json", "select max(start + duration) from spans").rows[0][0];
      holds(since < until && until - since < length, `a part of the run: ${since} to ${until} of ${length}`);
      const found = await panel();
      same(found.map(([block, count, total]) => [block, count, total]), clipped(since, until), "by " + by);
      same(await at().$eval('.range-panel .details [data-what="inclusive"]', (one) => Number(one.dataset.value)), found.reduce((sum, row) => sum + row[3], 0), "the flame graph");
    }
    await shot("range");
    await at().click("text=deselect it");
    await quiet();
    same(await at().$(".range-panel"), null, "no range");
  });

  test("lanes are pinned, moved and collapsed, and the strip above moves the window", async () => {
    const lanes = () => at().$$eval(".lane-list li", (all) => all.map((one) => Number(one.dataset.lane)));
    const height = () => at().$eval(".lanes > canvas[role=application]", (one) => one.clientHeight);
    await go("timeline?file=" + files.indexOf("jobs.cairn"));
    await settled(".lanes canvas");
    const before = await lanes(), tall = await height();
    await at().click(".lane-list summary");
    await at().click(`.lane-list li[data-lane="${before[2]}"] button[aria-label^="Pin"]`);
    await quiet();
    same(await lanes(), [before[2], ...before.filter((one) => one !== before[2])], "pinned");
    await at().click(`.lane-list li[data-lane="${before[0]}"] button[aria-label^="Move down"]`);
    await quiet();
    same((await lanes()).slice(0, 3), [before[2], before[1], before[0]], "moved");
    await at().click(`.lane-list li[data-lane="${before[0]}"] button[aria-label^="Collapse"]`);
    await quiet();
    holds((await height()) < tall, "lower than " + tall);
    // A collapsed lane has no second row to point at.
    await at().reload();
    await settled(".lanes canvas");
    same((await lanes()).slice(0, 3), [before[2], before[1], before[0]], "in the address");
    await at().click(".lane-list summary");
    await at().click("text=as recorded");
    await quiet();
    same([await lanes(), await height()], [before, tall], "as recorded");
    await at().focus(".lanes > canvas[role=application]");
    for (const key of ["+", "+", "+"]) await at().keyboard.press(key);
    await quiet();
    const strip = await (await at().$(".minimap")).boundingBox();
    await at().mouse.click(strip.x + strip.width - 30, strip.y + 20);
    const length = json("query", "jobs.cairn", "--json", "select max(start + duration) from spans").rows[0][0];
    // The address has the window when that has been still for a moment.
    await at().waitForFunction((whole) => {
      const route = new URLSearchParams(location.hash.split("?")[1]);
      return Number(route.get("from")) > 0.5 * whole && Number(route.get("to")) > 0.9 * whole;
    }, length).catch(async () => holds(false, `the window is at the end of ${length}: ${await hash()}`));
  });

  test("bars of a histogram select the spans of their durations, on the timeline, too", async () => {
    const number = files.indexOf("jobs.cairn"), sql = (text) => json("query", "jobs.cairn", "--json", text).rows;
    const [[block]] = sql("select block from spans group by block order by count(*) desc limit 1");
    await go(`iterations?file=${number}&block=${block}`);
    await settled(".histogram [data-bin]");
    const bars = await at().$$eval(".histogram [data-bin]", (all) => all.map((one) => Number(one.dataset.value)));
    same(bars.reduce((sum, n) => sum + n, 0), sql(`select count(*) from spans where block = ${block}`)[0][0], "all bars");
    const bin = bars.findIndex((n) => n > 0);
    await at().focus(`.histogram [data-bin="${bin}"]`);
    await at().keyboard.press("Enter");
    await at().waitForSelector(".histogram .acts a");
    const [shortest, longest] = [await rest("shortest"), await rest("longest")];
    same(sql(`select count(*) from spans where block = ${block} and duration between ${shortest} and ${longest}`)[0][0], bars[bin], "the bar's spans");
    same(await at().$$eval('.histogram [aria-pressed="true"]', (all) => all.map((one) => Number(one.dataset.bin))), [bin], "it is pressed");
    await at().click(".histogram .acts a");
    await settled(".lanes canvas");
    const [[below]] = sql(`with recursive chosen(id) as (select id from spans where block = ${block} and duration between ${shortest} and ${longest}
      union select spans.id from spans join chosen on spans.parent = chosen.id) select count(*) from chosen`);
    same(await at().$eval('[data-what="spans"]', (one) => Number(one.dataset.value)), below, "the timeline's spans");
    await shot("histogram");
    // Over several bars with the pointer.
    await at().goBack();
    await settled(".histogram [data-bin]");
    await at().evaluate(() => document.querySelector(".histogram").scrollIntoView());
    const first = await (await at().$(`.histogram [data-bin="0"]`)).boundingBox(), last = await (await at().$(`.histogram [data-bin="${bars.length - 1}"]`)).boundingBox();
    await at().mouse.move(first.x + 2, first.y + 40);
    await at().mouse.down();
    await at().mouse.move(last.x + 2, last.y + 40, { steps: 5 });
    await at().mouse.up();
    await at().waitForFunction((n) => document.querySelectorAll('.histogram [aria-pressed="true"]').length === n, bars.length);
  });

  test("SQL on the page answers like cairn query, and leads to functions and spans", async () => {
    const cells = () => at().$$eval('[data-what="result"] tbody tr', (all) => all.map((row) => [...row.children].map((one) => one.dataset.value)));
    const ask = async (name, text, shown) => {
      await go(`sql?file=${files.indexOf(name)}`);
      await settled(".sql textarea");
      await at().fill(".sql textarea", text);
      await at().keyboard.press("Control+Enter");
      await settled(shown);
      return cells();
    };
    const functions = "select block, name, sum(calls), sum(ticks) as self from contexts group by block order by self desc, block limit 7";
    same(await ask("lua.cairn", functions, '[data-what="result"] td'), json("query", "lua.cairn", "--json", functions).rows.map((row) => row.map(String)), "functions");
    await shot("sql");
    const [[block]] = json("query", "lua.cairn", "--json", functions).rows;
    await at().click('[data-what="result"] tbody tr:first-child td:nth-child(2) a');
    await settled("tr[data-step]");
    holds((await hash()).startsWith("#/callers") && (await hash()).includes("focus=" + block), await hash());
    const slow = "select id, duration from slowest limit 3";
    same(await ask("jobs.cairn", slow, '[data-what="result"] td a'), json("query", "jobs.cairn", "--json", slow).rows.map((row) => row.map(String)), "spans");
    await at().click('[data-what="result"] tbody tr:nth-child(2) td:first-child a');
    await settled(".span-card");
    same(await at().$eval(".span-card", (one) => Number(one.dataset.span)), json("query", "jobs.cairn", "--json", slow).rows[1][0], "the span");
    for (const text of ["delete from blocks", "selec", "select 1; select 2", "attach 'x' as y", "pragma table_info(spans)"]) {
      problems.length = 0;
      await ask("jobs.cairn", text, ".problem");
      problems.splice(0); // the browser reports the status 400
    }
    // The schema is that of the command.
    const tables = await at().$$eval(".schema summary .name", (all) => all.map((one) => one.textContent));
    holds(["spans", "blocks", "contexts", "summary"].every((name) => tables.includes(name)), String(tables));
  });

  test("the export menu saves what the commands write, pictures, and copies the link", async () => {
    await go("flame?file=0&metric=ticks");
    await settled(".flame canvas");
    await at().click(".export > button");
    const saved = async (text) => {
      const [download] = await Promise.all([at().waitForEvent("download"), at().click(`.export li >> text=${text}`)]);
      return [download.suggestedFilename(), readFileSync(await download.path())];
    };
    const write = (...words) => { execFileSync(cairn, words, { cwd: folder }); return readFileSync(join(folder, words.at(-1))); };
    const [name, pprof] = await saved("pprof");
    same(name, "lua.pb.gz", "its name");
    holds(gunzipSync(pprof).equals(gunzipSync(write("export", "--to", "pprof", "lua.cairn", "-o", "exported.pb.gz"))), "pprof as cairn export");
    const [page, html] = await saved("page in one file");
    same(page, "lua.html", "its name");
    const data = (text) => /id="profile">([^<]*)</.exec(text)[1].length;
    holds(data(String(html)) > 1000 && String(html).length > 1e5, "a page");
    const [svgName, svg] = await saved("picture (.svg)");
    same(svgName, "lua-flame.svg", "its name");
    const { rows: boxes } = await at().evaluate(async () => (await fetch("api/flame?file=0&metric=ticks&width=200")).json());
    holds(String(svg).includes("Press:page") && String(svg).split("<rect").length > boxes.length, "boxes: " + String(svg).split("<rect").length);
    const [, png] = await saved("picture (.png)");
    holds(png.subarray(1, 4).toString() === "PNG" && png.length > 2000, "a PNG");
    await at().context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await at().click(".export li >> text=copy the link");
    await at().waitForFunction(() => document.querySelector(".export .note").textContent.includes("copied"));
    same(await at().evaluate(() => navigator.clipboard.readText()), at().url(), "the link");
    await shot("export");
    await at().keyboard.press("Escape");
    same(await at().$(".export ul"), null, "closed");
  });

  test("differences within chance are grey, by cost and by share", async () => {
    const again = files.indexOf("again.cairn"), other = files.indexOf("other.cairn");
    const sample = (name) => json("report", "--json", name).metrics.find((one) => one.name === "ticks").sampling.unit;
    const flame = (after, share) => at().evaluate(async (query) => (await fetch("api/diff-flame?" + query)).json(), `before=0&after=${after}&metric=ticks&width=400${share ? "&share=1" : ""}`);
    await go("diff?metric=ticks");
    await settled(".flame canvas");
    for (const share of [false, true])
      for (const [number, name] of [[again, "again.cairn"], [other, "other.cairn"]]) {
        const { rows: boxes, total, before, scale, columns } = await flame(number, share);
        same(columns.slice(9), ["before", "chance"], "columns");
        same(scale.toFixed(9), (share ? total / before : 1).toFixed(9), "scale");
        const [u, v] = [sample("lua.cairn") * scale, sample(name)], changed = boxes.filter((row) => Math.round(row[9] * scale) !== row[3]);
        // Twice the reach of chance, and no reach at all, are clear cases.
        const reach = (x, y) => 1.96 * Math.sqrt((x * v + y * u) * Math.max(0, 1 - (x + y) / (before * scale + total)));
        for (const row of changed) {
          const x = row[9] * scale, y = row[3], far = Math.abs(y - x);
          if (far > 2 * reach(x, y) + 2) same(row[10], 0, `${name}: ${x} and ${y}`);
        }
        const grey = changed.filter((row) => row[10]).length;
        holds(name === "again.cairn" ? grey > 0.8 * changed.length : grey < 0.2 * changed.length, `${name}: ${grey} of ${changed.length} are within chance`);
      }
    // The table by share, largest change of share first.
    await go(`diff?metric=ticks&after=${other}&by=share`);
    await settled("table.sides tbody tr");
    const diff = json("diff", "--json", "lua.cairn", "other.cairn", "--metric", "ticks", "--top", "20000");
    const wanted = diff.blocks.map((row) => row.self.after / diff.total.after - row.self.before / diff.total.before).sort((a, b) => Math.abs(b) - Math.abs(a)).slice(0, 60);
    const found = await at().$$eval('table.sides [data-what="change"]', (all) => all.map((one) => Number(one.dataset.value)));
    same(found.map((one) => Math.abs(one).toFixed(9)), wanted.map((one) => Math.abs(one).toFixed(9)), "changes of shares");
    await shot("share");
    await go(`diff?metric=ticks&after=${again}`);
    await settled("table.sides tbody tr");
    await shot("again");
    const grey = await at().$$eval("table.sides tbody tr", (all) => [all.filter((row) => row.classList.contains("chance")).length, all.length]);
    holds(grey[0] > 0.5 * grey[1], "rows of a second run are mostly grey: " + grey);
  });

  test("files that are dropped or opened are loaded as further files", async () => {
    const number = await at().evaluate(async () => (await (await fetch("api/captures")).json()).length);
    await go("flame?file=0&metric=ticks");
    await settled(".flame canvas");
    execFileSync(cairn, ["export", "lua.cairn", "--to", "pprof", "-o", "again.pb.gz"], { cwd: folder });
    const send = (name, as) => at().evaluate(([data, called]) => {
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)), moved = new DataTransfer();
      moved.items.add(new File([bytes], called));
      document.body.dispatchEvent(new DragEvent("dragover", { bubbles: true, cancelable: true, dataTransfer: moved }));
      document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: moved }));
    }, [readFileSync(join(folder, name)).toString("base64"), as]);
    await send("lua.cairn", "../../over there.cairn");
    await at().waitForFunction((count) => location.hash.includes("file=" + count), number);
    await go(`functions?file=${number}&metric=ticks`);
    await settled("tr[data-block]");
    same(await rows("tbody tr[data-block]", ["self", "inclusive", "calls"]), ofReport("lua.cairn", "--metric", "ticks", "--top", "100", "--sort", "total"), "the capture");
    same(await at().$eval("header select", (one) => one.selectedOptions[0].textContent), "over_there.cairn", "its name");
    await at().setInputFiles("input[type=file]", join(folder, "again.pb.gz"));
    await at().waitForFunction((count) => location.hash.includes("file=" + count), number + 1);
    await settled(".flame canvas");
    const total = json("report", "--json", "lua.cairn").metrics.find((one) => one.name === "ticks").total;
    same(await at().evaluate(async (n) => (await (await fetch("api/captures")).json())[n].metrics.find((one) => one.name === "ticks").total, number + 1), total, "pprof");
    await send("jobs.cairn", "jobs.cairn");
    await at().waitForFunction((count) => location.hash.includes("file=" + count), number + 2);
    await go(`spans?file=${number + 2}`);
    await settled("tr[data-block]");
    // A file that is no profile is refused, and the page stays.
    await at().evaluate(() => {
      const moved = new DataTransfer();
      moved.items.add(new File(["\x00\x01nothing"], "x.bin"));
      document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: moved }));
    });
    await at().waitForFunction(() => document.querySelector(".said button"));
    const said = await at().$eval(".said", (one) => one.textContent);
    holds(said.includes("x.bin"), said);
    same(await at().evaluate(async () => (await (await fetch("api/captures")).json()).length), number + 3, "files");
    const expected = problems.findIndex((one) => one.includes("400"));
    if (expected >= 0) problems.splice(expected, 1);
  });
}
