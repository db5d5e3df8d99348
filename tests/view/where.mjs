// SPDX-License-Identifier: MIT
// Pages on contexts, beyond tables: folded recursion, boxes that are never hidden, colours, search,
// sources, both sides of a comparison.
export default function where({ test, at, go, settled, quiet, rows, same, holds, hash, json, ofReport, files, shot }) {
  const total = (name, metric) => json("report", "--json", name).metrics.find((m) => m.name === metric).total;
  const told = () => at().textContent(".flame p.unseen[role=status]");
  const press = async (...keys) => { for (const key of keys) await at().keyboard.press(key); };
  // Returns the description of the box that the keys selected.
  const telling = async (wanted) => {
    await at().waitForFunction((text) => document.querySelector(".flame p.unseen[role=status]")?.textContent.startsWith(text), wanted);
    return told();
  };

  test("recursion a million calls deep is one box with the number of recursive calls", async () => {
    const flat = json("report", "--json", "deep.cairn", "--flat", "--metric", "ticks").flat;
    const down = flat.find((row) => row.block.name === "down");
    same(down.calls, 1000000, "calls");
    await go(`flame?file=${files.indexOf("deep.cairn")}&metric=ticks`);
    await settled(".flame canvas");
    await at().focus(".flame canvas");
    await press("ArrowDown", "ArrowDown", "ArrowDown");
    const said = await telling("down");
    holds(said.includes("1,000,000 calls") && said.includes("↺ 999,999"), said);
    await press("ArrowDown");
    same(await told(), said, "it has no child");
  });

  test("[missing] and [folded] are drawn, however small; folded stacks open like captures", async () => {
    const number = files.indexOf("imported.txt");
    await go(`flame?file=${number}`);
    await settled(".flame canvas");
    same(await at().$eval('.details [data-what="inclusive"]', (one) => Number(one.dataset.value)), 1000007, "the whole");
    await at().focus(".flame canvas");
    await press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight");
    holds((await telling("[missing]")).includes("[missing], 3"), "its figure");
    await press("ArrowLeft", "ArrowDown");
    holds((await telling("[folded]")).includes("[folded], 4"), "its figure");
    await press("Home");
    // It can be pointed at, and has another colour than the page.
    const canvas = await (await at().$(".flame canvas")).boundingBox();
    const pixel = await at().$eval(".flame canvas", (one) => {
      const ratio = one.width / one.clientWidth, x = (one.clientWidth - 3) * ratio, y = (2 * 21 + 4) * ratio;
      return [...one.getContext("2d").getImageData(x, y, 1, 1).data];
    });
    holds(pixel[3] === 255, "nothing is drawn there: " + pixel);
    await at().mouse.move(canvas.x + canvas.width - 3, canvas.y + 2 * 21 + 10);
    await at().waitForFunction(() => document.querySelector(".bubble b")?.textContent === "[missing]");
    // The details stay with the selected box.
    same(await at().$eval('.details [data-what="inclusive"]', (one) => Number(one.dataset.value)), 1000007, "the selected box");
    await at().mouse.click(canvas.x + canvas.width - 3, canvas.y + 2 * 21 + 10);
    await at().waitForFunction(() => document.querySelector(".details .name")?.textContent === "[missing]");
    same(await at().$eval('.details [data-what="inclusive"]', (one) => Number(one.dataset.value)), 3, "missing");
  });

  test("levels below the screen are loaded when the user moves there", async () => {
    const number = files.indexOf("tall.txt"), asked = [];
    const seen = (request) => { const url = new URL(request.url()); if (url.pathname.endsWith("/api/flame")) asked.push(url.searchParams.get("levels")); };
    const height = () => at().$eval(".boxes > div", (one) => one.clientHeight);
    const last = async (y) => {
      const box = await (await at().$(".boxes")).boundingBox();
      await at().mouse.move(box.x + box.width / 3, box.y + y(box.height));
      await at().waitForFunction(() => document.querySelector(".bubble b")?.textContent === "level299");
    };
    at().on("request", seen);
    try {
      await go(`flame?file=${number}&search=&x=1`);
      await settled(".flame canvas");
      holds(asked.length === 1 && Number(asked[0]) < 100, "a screen is asked for: " + asked);
      same(await height(), 301 * 21, "height of all levels");
      await at().$eval(".boxes", (one) => { one.scrollTop = one.scrollHeight; });
      await last((high) => high - 12);
      same(asked.slice(1), [null], "then all of it");
      same(await height(), 301 * 21, "height unchanged");
      // Upside down the root is at the bottom.
      await go(`flame?file=${number}&up=1&x=2`);
      await settled(".flame canvas");
      await at().$eval(".boxes", (one) => { one.scrollTop = 0; });
      await last(() => 12);
      // By keys.
      await go("self");
      await settled("tbody tr");
      await go(`flame?file=${number}&x=3`);
      await settled(".flame canvas");
      await at().focus(".flame canvas");
      for (let i = 0; i <= 300; i++) await press("ArrowDown");
      await telling("level299");
    } finally {
      at().off("request", seen);
    }
  });

  test("boxes coloured by self cost and by calls", async () => {
    const seen = new Set();
    for (const color of ["", "cost", "calls"]) {
      await go(`flame?metric=ticks&color=${color}`);
      await settled(".flame canvas");
      seen.add(await at().$eval(".flame canvas", (one) => one.toDataURL()));
      same((await at().$$(".scale i")).length, color ? 6 : 0, "legend");
    }
    same(seen.size, 3, "pictures");
  });

  test("the search: its share, the keys to its matches, and filtered tables", async () => {
    const metric = ["--metric", "ticks"], whole = total("lua.cairn", "ticks");
    await go("flame?metric=ticks");
    await settled(".flame canvas");
    await press("/");
    await at().keyboard.type("ordered.insert");
    await settled('output [data-what="matches"]');
    const flat = json("report", "--json", "lua.cairn", "--flat", "--top", "0", "--sort", "total", ...metric).flat;
    const wanted = flat.find((row) => row.block.name === "ordered.insert");
    const output = await at().$eval('output [data-what="matches"]', (one) => [one.textContent, Number(one.dataset.value), Number(one.dataset.of)]);
    same(output, ["1 function, " + ((100 * wanted.inclusive.ticks) / whole).toFixed(1) + " %", wanted.inclusive.ticks, whole], "found");
    await press("Enter", "n");
    await telling("ordered.insert");
    same(await hash(), "#/flame?metric=ticks&search=ordered.insert", "the address has it");
    await press("g", "3");
    await settled("tbody tr[data-block]");
    await at().waitForFunction(() => document.querySelectorAll("tbody tr[data-block]").length === 1);
    same(await rows("tbody tr[data-block]", ["self", "inclusive", "calls"]), [[wanted.block.id, wanted.self.ticks, wanted.inclusive.ticks, wanted.calls]], "the table");
    await press("/", "Escape");
    await at().waitForFunction(() => document.querySelectorAll("tbody tr[data-block]").length > 1);
  });

  test("tables by keys: rows, focus, drop", async () => {
    await go("self?metric=ticks");
    await settled("tbody tr[data-block]");
    const [first, second] = ofReport("lua.cairn", "--metric", "ticks", "--top", "2");
    const on = () => at().evaluate(() => Number(document.activeElement.closest("tr")?.dataset.block));
    await at().evaluate(() => document.activeElement?.blur());
    await press("j");
    same(await on(), first[0], "the first row");
    await press("ArrowDown");
    same(await on(), second[0], "the second row");
    await press("d");
    await settled(".crumbs li.drop");
    await at().waitForFunction((id) => !document.querySelector(`tr[data-block="${id}"]`), second[0]);
    await quiet();
    same(await rows("tbody tr[data-block]", ["self", "inclusive", "calls"]), ofReport("lua.cairn", "--metric", "ticks", "--top", "100", "--drop", "#" + second[0]), "without it");
    const part = json("report", "--json", "lua.cairn", "--metric", "ticks", "--flat", "--top", "0", "--drop", "#" + second[0]).flat.reduce((all, row) => all + row.self.ticks, 0);
    same(await at().$eval('.crumbs [data-what="part"]', (one) => Number(one.dataset.value)), part, "what is left");
    await at().goBack();
    await settled(`tr[data-block="${second[0]}"]`);
    await at().evaluate(() => document.activeElement?.blur());
    await press("j", "Enter");
    await settled('tr[data-step="0"]');
    same(await hash(), `#/callers?metric=ticks&focus=${first[0]}`, "focused");
  });

  test("files by cost, and the cost of each line", async () => {
    const flat = json("report", "--json", "lua.cairn", "--flat", "--metric", "ticks", "--top", "0").flat, sums = {};
    for (const row of flat) if (row.block.file) sums[row.block.file] = (sums[row.block.file] || 0) + row.self.ticks;
    await go("source?metric=ticks");
    await settled("tr[data-file]");
    const found = await at().$$eval("tr[data-file]", (all) => Object.fromEntries(all.map((row) => [row.dataset.file, Number(row.querySelector('[data-what="self"]').dataset.value)])));
    same(Object.entries(found).sort(), Object.entries(sums).sort(), "files");
    const file = Object.keys(sums).find((name) => /query\.lua$/.test(name)), lines = {};
    await at().click(`tr[data-file="${file}"] a.name`);
    await settled("tr[data-line]");
    for (const row of flat) if (row.block.file === file) {
      const its = (lines[row.block.line] ||= [0, 0]);
      its[0] += row.self.ticks;
      its[1] += row.calls;
    }
    const shown = await at().$$eval("tr[data-line]", (all) => all.map((row) => [row.dataset.line, ["self", "calls"].map((what) => Number(row.querySelector(`[data-what="${what}"]`).dataset.value))]).filter(([, [self, calls]]) => self || calls));
    same(shown, Object.entries(lines).filter(([, [self, calls]]) => self || calls), "lines");
  });

  test("two captures side by side are zoomed separately", async () => {
    await go("diff?metric=ticks&beside=1");
    await settled('[data-side="after"] canvas');
    await settled('[data-side="before"] canvas');
    const whole = (side) => at().$eval(`[data-side="${side}"] .details [data-what="inclusive"]`, (one) => Number(one.dataset.value));
    same([await whole("before"), await whole("after")], [total("lua.cairn", "ticks"), total("other.cairn", "ticks")], "totals");
    const wide = (side) => at().$eval(`[data-side="${side}"] .boxes`, (one) => one.clientWidth), [before, after] = [await wide("before"), await wide("after")];
    const wanted = total("lua.cairn", "ticks") / total("other.cairn", "ticks");
    holds(Math.abs(Math.min(10, Math.max(0.1, wanted)) - before / after) < 0.02 * wanted, `${before} and ${after} pixels are not one scale`);
    await shot("beside");
    await at().focus('[data-side="after"] canvas');
    await press("ArrowDown", "ArrowDown", "Enter");
    await settled('[data-side="after"] .above');
    holds(/zoom-after=\d+/.test(await hash()) && !/zoom-before/.test(await hash()), await hash());
    same(await whole("before"), total("lua.cairn", "ticks"), "the other stays");
  });
}
