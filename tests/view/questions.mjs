// SPDX-License-Identifier: MIT
// Five questions of a new user, answered from the first page by what it says: links and menus are found
// by their visible text. Each takes at most four steps.
export default function questions({ test, at, settled, quiet, same, holds, json, go, files }) {
  const menu = async (text) => { await at().click(`.menu a:text-is("${text}")`); await quiet(); };
  const open = async (file) => { await at().selectOption("header select", { label: file }); await quiet(); };
  const start = async () => { await go("?"); await settled(".menu a[aria-current=page]"); };
  const first = (selector) => at().$eval(selector, (one) => one.textContent.trim());

  test("which function costs most, and who calls it", async () => {
    await start();
    await menu("Functions");
    await at().click('table.blocks thead a:text-is("self")');
    await settled('th[aria-sort=descending] a:text-is("self")');
    const most = json("report", "--json", "lua.cairn", "--flat", "--metric", "ticks", "--top", "1", "--sort", "self").flat[0].block;
    const link = "table.blocks tbody tr:first-child th a.name";
    holds((await first(link)).endsWith(most.name), await first(link));
    await at().click(link);
    await settled("tr[data-step]");
    const its = json("report", "--json", "lua.cairn", "--metric", "ticks", "--focus", "#" + most.id).sequence.before[0].block.name;
    same(await first("tbody:first-of-type tr.section"), "Callers", "the heading");
    holds((await first("tbody:first-of-type tr[data-block] a.name")).endsWith(its), "the caller");
  });

  test("which image was slow", async () => {
    await start();
    await open("jobs.cairn");
    await menu("Slowest");
    await settled("tr[data-span] .attributes span");
    same(await first("tr[data-span] .attributes span"), "image foo_image.jpg", "the first with an image");
  });

  test("what changed", async () => {
    await start();
    await menu("Difference");
    await settled("table.causes tbody tr");
    const why = json("diff", "--why", "--json", "lua.cairn", "other.cairn", "--metric", "ticks", "--top", "20");
    holds((await first("table.causes th[scope=row]")).startsWith(why.causes[0].text), "the first reason");
  });

  test("what would help", async () => {
    await start();
    await open("jobs.cairn");
    await menu("What if");
    await settled('[data-what="effects"]');
    holds(await at().isVisible('h2:text-is("Biggest wins")'), "the heading");
    same(await first('[data-what="effects"] tbody th a.name'), "convert_image", "the first one");
  });
}
