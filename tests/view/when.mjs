// SPDX-License-Identifier: MIT
// Pages on spans: tooltips, keys, the slowest hundredth, chosen iterations, threads in what-if.
export default function when({ test, at, go, settled, quiet, same, holds, hash, json, files, shot }) {
  const file = files.indexOf("jobs.cairn");
  const spans = () => json("spans", "--json", "jobs.cairn", "--slowest=0").slowest;
  const press = async (...keys) => { for (const key of keys) await at().keyboard.press(key); };
  const ask = (question) => at().evaluate(async (one) => (await fetch("api/" + one)).json(), question);

  // Returns the position of a span's bar, as viewer/src/lanes.ts places it.
  async function placeOf(id) {
    const chart = await ask(`timeline?file=${file}&pixels=1400`);
    const bar = chart.bars.find((one) => one[7] === id), canvas = await (await at().$(".lanes canvas")).boundingBox();
    let top = 4;
    for (const lane of chart.lanes) {
      if (lane.lane === bar[0]) break;
      top += 5 + 19 * Math.max(1, lane.rows) + 4;
    }
    const middle = (bar[2] + bar[3]) / 2 / (chart.length + 1);
    return [canvas.x + 150 + middle * (canvas.width - 158), canvas.y + top + 5 + 19 * bar[1] + 9];
  }

  test("the timeline: attributes in the tooltip, ancestors after a click, arrows", async () => {
    const span = spans().filter((one) => one.handed_off && one.attributes.length).sort((a, b) => b.duration - a.duration)[0];
    await go(`timeline?file=${file}`);
    await settled(".lanes canvas");
    // Spans narrower than a pixel (on a busy machine) have no arrow.
    const { finest } = await ask(`timeline?file=${file}&pixels=1400`);
    same(await at().textContent('[data-what="handoffs"]'), String(spans().filter((one) => one.handed_off && one.duration > finest).length), "hand-offs");
    const [x, y] = await placeOf(span.id);
    await at().mouse.move(x, y);
    await at().waitForSelector(`.bubble[data-span="${span.id}"] i`);
    const tip = await at().textContent(".bubble");
    for (const { key, value } of span.attributes) holds(tip.includes(key + " " + value), tip);
    holds(tip.includes(`${span.block.name} #${span.iteration}`), tip);
    await at().mouse.click(x, y);
    await settled(`.span-card[data-span="${span.id}"]`);
    same(await at().$$eval(".ancestors a", (all) => all.map((a) => Number(a.dataset.ancestor))), span.ancestors.map((one) => one.id), "ancestry");
    await at().mouse.move(3, 3);
    await at().focus(".lanes canvas");
    await press("u");
    await settled(`.span-card[data-span="${span.ancestors[0].id}"]`);
  });

  test("the timeline by keys; a link to a span scrolls to it", async () => {
    await go(`timeline?file=${file}`);
    await settled(".lanes canvas");
    await at().focus(".lanes canvas");
    const windowOf = async () => { const items = new URLSearchParams((await hash()).split("?")[1]); return [Number(items.get("from")), Number(items.get("to"))]; };
    const all = json("spans", "--json", "jobs.cairn").length + 1, last = [...spans()].sort((a, b) => b.start - a.start)[0];
    await press("w", "w", "w", "w", "w", "w");
    // The address changes after the sixth key; each shrinks the window to three fifths.
    await at().waitForFunction((length) => {
      const items = new URLSearchParams(location.hash.split("?")[1]);
      return items.has("from") && Number(items.get("to")) - Number(items.get("from")) < 0.06 * length;
    }, all);
    await quiet();
    const [from] = await windowOf();
    holds(from > 0, "zoomed in: " + (await hash()));
    await press("a");
    await at().waitForFunction((before) => Number(new URLSearchParams(location.hash.split("?")[1]).get("from")) < before, from);
    await go(`timeline?file=${file}&from=0&to=1000&span=${last.id}`);
    await at().waitForFunction(([start, length]) => {
      const items = new URLSearchParams(location.hash.split("?")[1]);
      return Number(items.get("from")) <= start && Number(items.get("to")) > start && Number(items.get("to")) - Number(items.get("from")) < length;
    }, [last.start, all]);
    await settled(`.span-card[data-span="${last.id}"]`);
  });

  test("one click chooses the slowest hundredth, for all pages on spans", async () => {
    const row = json("spans", "--json", "jobs.cairn", "--top", "0").blocks.find((one) => one.block.name === "convert_image");
    await go(`spans?file=${file}`);
    await settled(`tr[data-block="${row.block.id}"] [data-what="p99"] a`);
    same(await at().$eval(`tr[data-block="${row.block.id}"] [data-what="p99"]`, (one) => Number(one.dataset.value)), row.p99, "p99");
    await at().click(`tr[data-block="${row.block.id}"] [data-what="p99"] a`);
    await settled(".crumbs li.choice");
    await settled("tr[data-span]");
    await shot("slowest-hundredth");
    const slow = spans().filter((one) => one.block.id === row.block.id && one.duration >= row.p99);
    const shown = () => at().$$eval("tr[data-span] [data-what=duration]", (all) => all.map((one) => Number(one.dataset.value)));
    same(await shown(), slow.map((one) => one.duration), "the slowest");
    same(await at().$eval('a[data-what="p99"]', (one) => Number(one.dataset.value)), row.p99, "the line");
    const choice = (await hash()).split("?")[1];
    await go("spans?" + choice);
    await settled("tr[data-block]");
    await at().waitForFunction((count) => Number(document.querySelector('tr[data-block] [data-what="count"]').dataset.value) <= count, slow.length);
    const self = await at().$$eval('tr[data-block] [data-what="self"]', (all) => all.reduce((sum, one) => sum + Number(one.dataset.value), 0));
    await go("span-tree?" + choice);
    await settled(".flame canvas");
    same(await at().$eval('.details [data-what="inclusive"]', (one) => Number(one.dataset.value)), self, "the tree");
    await go("explain?" + choice);
    await settled('[data-what="answer"]');
    same((await ask(`explain?file=${file}&${choice.replace(/file=\d+&?/, "")}`)).answer, await at().textContent('[data-what="answer"]'), "explain");
    await go("whatif?" + choice);
    await settled('[data-what="whole"]');
    await go("flame?" + choice);
    await settled('[data-what="not-chosen"]');
  });

  test("a point of the scatter shows its iteration, and a click leads to its span", async () => {
    await go(`iterations?file=${file}&scale=linear`);
    await settled(".u-over");
    const all = spans().filter((one) => one.block.name === "convert_image"), slowest = all[0];
    // Positions as viewer/src/iterations.tsx scales them.
    const numbers = all.map((one) => one.iteration), low = Math.min(...numbers), high = Math.max(...numbers), margin = Math.max(0.5, (high - low) * 0.02);
    const over = await (await at().$(".u-over")).boundingBox();
    const x = over.x + (over.width * (slowest.iteration - low + margin)) / (high - low + 2 * margin), y = over.y + over.height * (1 - slowest.duration / (slowest.duration * 1.06));
    await at().mouse.move(x - 30, y + 30);
    await at().mouse.move(x, y);
    await at().waitForSelector(`.near[data-span="${slowest.id}"]`);
    same(await at().$eval(".near", (one) => Number(one.dataset.value)), slowest.duration, "duration");
    await at().mouse.click(x, y);
    await settled(`.span-card[data-span="${slowest.id}"]`);
  });

  test("a search on pages about spans shows its share of self time", async () => {
    const blocks = json("spans", "--json", "jobs.cairn", "--top", "0").blocks, sum = (list) => list.reduce((all, row) => all + row.self, 0);
    await go(`spans?file=${file}`);
    await settled("tr[data-block]");
    await press("/");
    await at().keyboard.type("image");
    await settled('output [data-what="matches"]');
    same(await at().$eval('output [data-what="matches"]', (one) => [Number(one.dataset.value), Number(one.dataset.of)]), [sum(blocks.filter((row) => /image/i.test(row.block.name + row.block.file))), sum(blocks)], "share");
    await at().waitForFunction((count) => document.querySelectorAll("tr[data-block]").length === count, blocks.filter((row) => /image/i.test(row.block.name + row.block.file)).length);
    await press("Escape");
    await at().waitForFunction((count) => document.querySelectorAll("tr[data-block]").length === count, blocks.length);
  });

  test("a gap of missing time links to its span", async () => {
    const gap = json("spans", "--json", "jobs.cairn", "--missing").gaps[0];
    await go(`missing?file=${file}`);
    await settled("table:last-of-type tbody th a.name");
    same(await at().$eval("table:last-of-type tbody td", (one) => Number(one.dataset.value)), gap.missing, "the largest");
    await at().click("table:last-of-type tbody th a.name");
    await settled(`.span-card[data-span="${gap.span.id}"]`);
  });

  test("what-if with another number of threads", async () => {
    await go(`whatif?file=${file}`);
    await settled("input[data-pool]");
    const pool = json("whatif", "--json", "jobs.cairn").pools[0], id = pool.blocks[0].id;
    same(await at().getAttribute(`input[data-pool="${id}"]`, "placeholder"), String(pool.threads), "threads");
    await at().fill(`input[data-pool="${id}"]`, "1");
    await press("Tab");
    await at().waitForFunction(() => /threads=/.test(location.hash));
    await settled('[data-what="replayed"]');
    const theirs = json("whatif", "--json", "jobs.cairn", "--threads", "convert_image=1");
    const value = (what) => at().$eval(`[data-what="${what}"]`, (one) => Number(one.dataset.value));
    same([await value("replayed"), await value("predicted")], [theirs.replayed, theirs.predicted], "predicted");
    holds(theirs.predicted >= theirs.replayed, "one thread is not faster than two");
  });
}
