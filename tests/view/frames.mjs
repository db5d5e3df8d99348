// SPDX-License-Identifier: MIT
// End-to-end latency: the strip of frames against cairn latency --json, by pointer, by keys, and on a phone.
const DEADLINE = 16.7; // ms

// The address of the page with inputs, results and a deadline chosen.
export function framesOf(files, json) {
  const blocks = json("spans", "--json", "frames.cairn").blocks.map((row) => row.block), id = (name) => blocks.find((one) => one.name === name).id;
  return `frames?file=${files.indexOf("frames.cairn")}&input=${id("camera")}&result=${id("display")}&deadline=${DEADLINE * 1e6}`;
}

export default function frames({ test, at, go, settled, quiet, same, holds, hash, json, files, shot }) {
  const where = () => framesOf(files, json);
  const theirs = (...more) => json("latency", "--json", "frames.cairn", "--from", "camera", "--to", "display", "--deadline", DEADLINE + "ms", ...more);
  const bars = (selector) => at().$$eval(selector, (all) => all.map((one) => [Number(one.dataset.frame), Number(one.dataset.value)]));
  const value = (what) => at().$eval(`[data-what="${what}"]`, (one) => Number(one.dataset.value));
  const chainOf = async () => new URLSearchParams((await hash()).split("?")[1]).get("chain");
  const missed = () => theirs().frames.filter((one) => one.missed);

  test("frames: inputs, results and a deadline are chosen, and the figures are those of the command", async () => {
    const file = files.indexOf("frames.cairn"), all = theirs("--top", "20");
    await go(`frames?file=${file}`);
    await settled('select[name="input"]');
    const choose = async (name, text) => at().selectOption(`select[name="${name}"]`, { label: await at().$eval(`select[name="${name}"]`, (one, its) => [...one.options].find((each) => each.text.startsWith(its)).text, text) });
    await choose("input", "camera");
    await choose("result", "display");
    await settled(".frames .plot");
    same((await bars(".frames rect.missed")).length, 0, "misses without a deadline");
    await at().fill('input[name="deadline"]', DEADLINE + "ms");
    await at().keyboard.press("Enter");
    await settled('[data-what="missed"]');
    same(await bars(".frames rect"), all.frames.map((one) => [one.chain[one.chain.length - 1], one.latency]), "bars");
    same(await bars(".frames rect.missed"), missed().map((one) => [one.chain[one.chain.length - 1], one.latency]), "bars of misses");
    holds(missed().length > 3, "there are misses");
    for (const [what, wanted] of Object.entries({ results: all.count, missed: all.missed, median: all.latency.median, p90: all.latency.p90, p99: all.latency.p99, longest: all.latency.max, jitter: all.jitter }))
      same(await value(what), wanted, what);
    const row = (selector, whats) => at().$$eval(selector, (list, names) => list.map((one) => names.map((name) => Number(one.querySelector(`[data-what="${name}"]`).dataset.value))), whats);
    same(await row("tr[data-stage]", ["total", "count"]), all.stages.map((one) => [one.total, one.count]), "stages");
    same(await row("tr[data-result]", ["latency", "age"]), all.slowest.map((one) => [one.latency, one.age]), "the slowest");
    await shot("frames");
    await at().fill('input[name="deadline"]', "soon");
    await at().keyboard.press("Enter");
    same(await at().$eval('input[name="deadline"]', (one) => one.validity.valid), false, "a deadline that is no time");
  });

  test("frames: by keys to a miss, and to its chain on the timeline; back to the strip", async () => {
    await go(where());
    await settled(".frames .plot");
    await at().focus(".frames .plot");
    const [first, second] = missed();
    for (const key of ["n", "n", "p"]) await at().keyboard.press(key);
    await at().waitForSelector(`[data-what="frame"][data-frame="${first.chain[first.chain.length - 1]}"]`);
    await at().keyboard.press("n");
    await at().waitForSelector(`[data-what="frame"][data-frame="${second.chain[second.chain.length - 1]}"]`);
    holds(/missed/.test(await at().textContent('[data-what="frame"]')), "the text says that it missed");
    await at().keyboard.press("Enter");
    await settled(`.span-card[data-span="${second.chain[second.chain.length - 1]}"]`);
    same(await chainOf(), second.chain.join("."), "the chain");
    await shot("frames-chain");
    await at().goBack();
    await settled(".frames .plot");
  });

  test("frames: a click on a bar, and a tap on a phone, lead to the chain; no results the wrong way round", async () => {
    const size = at().viewportSize(), all = theirs();
    for (const width of [1280, 390]) {
      await at().setViewportSize({ width, height: 800 });
      await go(where());
      await settled(".frames .plot");
      same(await at().evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "no wider than the screen at " + width);
      const box = await (await at().$(".frames .plot")).boundingBox(), number = all.frames.findIndex((one) => one.missed);
      await at().mouse.click(box.x + ((number + 0.5) / all.frames.length) * box.width, box.y + box.height / 2);
      await settled(".span-card");
      same(await chainOf(), all.frames[number].chain.join("."), "the chain at " + width);
    }
    await at().setViewportSize(size);
    const swapped = where().replace(/input=(\d+)&result=(\d+)/, "input=$2&result=$1");
    await go(swapped);
    await settled('[data-what="unlinked"]');
    await quiet();
  });
}
