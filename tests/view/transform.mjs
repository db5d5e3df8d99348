// SPDX-License-Identifier: MIT
// Simplified paths: the page's figures are those of cairn report --transform, and each step can be
// undone.
const KINDS = ["merge", "collapse", "merge-file", "collapse-file", "focus-file"];

export default function transform({ test, at, go, settled, quiet, rows, same, holds, hash, json, ofReport }) {
  const whats = ["self", "inclusive", "calls"];
  const table = async () => (await rows("table.blocks tbody tr[data-block]", whats)).sort((a, b) => a[0] - b[0]);
  const wanted = (...transforms) => ofReport("lua.cairn", "--metric", "ticks", "--top", "100", "--sort", "total",
    ...transforms.flatMap((one) => ["--transform", one])).sort((a, b) => a[0] - b[0]);
  // A function with callees in its own file and a caller, in the middle of the paths.
  const middle = () => json("report", "--json", "lua.cairn", "--flat", "--metric", "ticks", "--sort", "total", "--top", "0").flat
    .map((row) => row.block).filter((one) => one.id && one.file)[2];

  test("merge, collapse and focus on a file have the report's figures, and are undone", async () => {
    const block = middle(), plain = wanted();
    for (const kind of KINDS) {
      const text = `${kind}:#${block.id}`, expected = wanted(text);
      holds(JSON.stringify(expected) !== JSON.stringify(plain), text + " changes something");
      await go("functions?file=0&metric=ticks");
      await settled(`tr[data-block="${block.id}"] select[data-act=transform]`);
      await at().selectOption(`tr[data-block="${block.id}"] select[data-act=transform]`, kind);
      await settled(".crumbs li[data-what=transform]");
      await quiet();
      same(await table(), expected, text);
      holds((await hash()).includes(text), await hash());
      await at().click(".crumbs li[data-what=transform] .x");
      await at().waitForFunction(() => !document.querySelector(".crumbs li[data-what=transform]"));
      await quiet();
      same(await table(), plain, "undone " + text);
      await at().goBack();
      await settled(".crumbs li[data-what=transform]");
      await quiet();
      same(await table(), expected, "back to " + text);
    }
  });

  test("keys simplify the paths of the flame graph and the call tree; two steps add up", async () => {
    const total = json("report", "--json", "lua.cairn").metrics.find((m) => m.name === "ticks").total;
    await go("tree?file=0&metric=ticks");
    await settled("table.tree tr[data-block]");
    const first = await at().$eval("table.tree tr[data-depth='2']", (row) => Number(row.dataset.block));
    await at().focus(`table.tree tr[data-depth='2'][data-block="${first}"] a.name`);
    await at().keyboard.press("m");
    await settled(".crumbs li[data-what=transform]");
    await quiet();
    holds(!(await at().$(`table.tree tr[data-block="${first}"]`)), "the function is gone");
    const second = await at().$eval("table.tree tr[data-depth='1']", (row) => Number(row.dataset.block));
    await at().focus(`table.tree tr[data-depth='1'][data-block="${second}"] a.name`);
    await at().keyboard.press("x");
    await at().waitForFunction(() => document.querySelectorAll(".crumbs li[data-what=transform]").length === 2);
    await quiet();
    const texts = [`merge:#${first}`, `collapse:#${second}`];
    await go(`functions?file=0&metric=ticks&${texts.map((one) => "transform=" + encodeURIComponent(one)).join("&")}`);
    await settled("table.blocks tbody tr[data-block]");
    same(await table(), wanted(...texts), texts.join(" "));
    await go("flame?file=0&metric=ticks");
    await settled(".flame canvas");
    await at().focus(".flame canvas");
    for (const key of ["ArrowDown", "ArrowDown", "m"]) await at().keyboard.press(key);
    await settled(".crumbs li[data-what=transform]");
    await quiet();
    same(await at().$eval('.details [data-what="inclusive"]', (one) => Number(one.dataset.value)), total, "the whole stays");
  });
}
