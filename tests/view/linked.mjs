// SPDX-License-Identifier: MIT
// Views that are linked: the functions beside a flame graph.
export default function linked({ test, at, go, settled, quiet, rows, same, holds, hash, json, ofReport, shot }) {
  const chosen = () => at().$$eval(".beside-table tr.here", (all) => all.map((row) => Number(row.dataset.block)));
  const value = (selector) => at().$eval(selector, (one) => Number(one.dataset.value));

  test("functions stand beside the flame graph, and a selection holds in both", async () => {
    const wanted = ofReport("lua.cairn", "--metric", "ticks", "--top", "100", "--sort", "inclusive");
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
}
