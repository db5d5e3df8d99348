// SPDX-License-Identifier: MIT
// Events and times without a core below the timeline: against their tables in SQL, in each window.
export default function moments({ test, at, go, settled, same, json, files, shot }) {
  const file = files.indexOf("frames.cairn");
  const rows = (sql) => json("query", "--json", "frames.cairn", sql).rows;
  const answer = (query) => at().evaluate(async (one) => (await fetch("api/moments?" + one)).json(), `file=${file}${query}`);

  test("events and times without a core are those of SQL, in windows", async () => {
    await go(`timeline?file=${file}`);
    await settled('[data-what="events"] canvas');
    for (const [from, to] of [[0, 720e6], [100e6, 300e6], [0, 1], [3100e3, 3600e3], [700e6, 1e12]]) {
      const got = await answer(`&from=${from}&to=${to}&pixels=1000`);
      same(got.events.map((one) => [one.at, one.level, one.text, one.span]), rows(`select at, level, text, span from events where at >= ${from} and at < ${to} order by at`), "events");
      // the wait comes first in each interval
      const [[waiting, ready]] = rows(`select coalesce(sum(max(0, min(begin + waiting, ${to}) - max(begin, ${from}))), 0), coalesce(sum(max(0, min(end, ${to}) - max(begin + waiting, ${from}))), 0) from off_core`);
      const lane = got.off_core[0];
      same([lane.name, lane.waiting, lane.ready], ["tracker", waiting, ready], `from ${from} to ${to}`);
      same([lane.pixels.reduce((sum, one) => sum + one[1], 0), lane.pixels.reduce((sum, one) => sum + one[2], 0)], [waiting, ready], "pixels");
    }
  });

  test("the timeline draws them; an event leads to its span, which has its times", async () => {
    await go(`timeline?file=${file}`);
    await settled("[data-off-core] canvas");
    await shot("moments");
    same(await at().textContent(".events summary"), "5 events and log lines", "number");
    same((await at().getAttribute('[data-off-core="tracker"] canvas', "aria-label")).replace(/\s/gu, " "), "tracker: waiting 20.0 ms, ready without a core 12.0 ms", "label");
    await at().click(".events summary");
    await at().click(".events li a");
    await settled('[data-what="ready"]');
    same([await at().getAttribute('[data-what="waiting"]', "data-value"), await at().getAttribute('[data-what="ready"]', "data-value")], ["500000", "300000"], "of the span");
    await go(`timeline?file=${files.indexOf("jobs.cairn")}`);
    await settled(".lanes canvas");
    same(await at().$("[data-off-core], [data-what=events]"), null, "no moments");
  });
}
