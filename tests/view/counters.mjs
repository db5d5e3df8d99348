// SPDX-License-Identifier: MIT
// Counters below the timeline: against the table of counters in SQL, in each window.
export default function counters({ test, at, go, settled, quiet, same, json, files, shot }) {
  const file = files.indexOf("frames.cairn");
  const sql = (where) => json("query", "--json", "frames.cairn", `select at, value from counters where name = 'waiting' and ${where} order by at`).rows;
  const answer = (query) => at().evaluate(async (one) => (await fetch("api/counters?" + one)).json(), `file=${file}${query}`);

  test("counters have all values of SQL, in windows and at each resolution", async () => {
    await go(`timeline?file=${file}`);
    await settled('.counter canvas[aria-label^="Counter "]');
    for (const [from, to] of [[0, 713e6], [100e6, 300e6], [0, 1], [700e6, 720e6], [719e6, 1e12]]) {
      const wanted = sql(`at >= ${from} and at < ${to}`), before = sql(`at < ${from}`).slice(-1);
      const { tracks } = await answer(`&from=${from}&to=${to}&pixels=4000`);
      same(tracks.map((one) => [one.track.name, one.track.count]), [["waiting", 45]], "tracks");
      same(tracks[0].points.map(([moment, low, high, last]) => [moment, low, high, last]), [...before, ...wanted].map(([moment, value]) => [moment, value, value, value]), `from ${from} to ${to}`);
      const [one] = (await answer(`&from=${from}&to=${to}&pixels=1`)).tracks, values = wanted.map((row) => row[1]);
      if (values.length) same(one.points.slice(-1)[0].slice(1), [Math.min(...values), Math.max(...values), values[values.length - 1]], "one pixel");
    }
  });

  test("the timeline draws counters, and says their values at the pointer", async () => {
    await go(`timeline?file=${file}`);
    await settled('.counter canvas[aria-label^="Counter "]');
    await shot("counters");
    const values = sql("1"), text = () => at().textContent('.counter [data-what="value"]');
    const range = `${Math.min(0, ...values.map((row) => row[1]))} to ${Math.max(0, ...values.map((row) => row[1]))}`.replace("-", "−");
    same([await at().textContent(".counter b"), await text()], ["waiting", range], "name and range");
    const view = await at().evaluate(async (one) => (await (await fetch("api/timeline?file=" + one)).json()).length + 1, file);
    const box = await at().locator('.counter canvas[aria-label^="Counter "]').boundingBox(), left = 150, right = 8;
    for (const [moment, value] of [values[5], values[20], values[44]]) {
      const middle = moment + 8e6; // each value holds for 16 ms
      await at().mouse.move(box.x + left + (middle / view) * (box.width - left - right), box.y + 20);
      await quiet();
      same(await text(), String(value).replace("-", "−"), "the value at " + middle);
    }
    // A file without counters has no place for them.
    await go(`timeline?file=${files.indexOf("jobs.cairn")}`);
    await settled(".lanes canvas");
    same(await at().$(".counters"), null, "no counters");
  });
}
