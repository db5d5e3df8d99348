// SPDX-License-Identifier: MIT
// The page of a fleet's database, with made answers of the database: tests/fleet has a real one.
import { violationsOf } from "./frame.mjs";
import { tabThrough } from "./keyboard.mjs";

const START = Date.UTC(2026, 0, 5), HOUR = 3600e3, HALVES = [20, 21, 23, 30, 40]; // bins: half powers of two
const iso = (ms) => new Date(ms).toISOString();
const runs = Array.from({ length: 25 }, (_, i) => ({
  started: iso(START + 2 * i * HOUR), version: "1." + Math.floor(i / 8), host: "host" + (i % 3), run: "run" + i, self: 1e6 * (5 + i % 4), total: 1e7 * (5 + i % 4),
}));
const spanTimes = [0, 1, 2, 10, 48]; // hours: there is a gap
const cells = spanTimes.flatMap((hour, c) => HALVES.slice(c % 2).map((bin) => ({
  time: iso(START + hour * HOUR), at_least: Math.round(2 ** (bin / 2)), spans: 1 + bin * (c + 1), longest: Math.round(2 ** (bin / 2) * 1.3), run: "run" + hour,
})));
const answers = {
  history: runs, heat: cells,
  top: ["main", "decode", "write"].map((name, i) => ({ name, file: "src/" + name + ".c", line: 10 + i, self: 1e9 / (i + 1), total: 2e9, calls: 100 * i, runs: 24, "span p99": i ? 0 : 123456 })),
};
const changes = {
  unit: "nanoseconds", runs_before: 8, runs_after: 8, whole: { before: 1e9, after: 1.2e9, beyond_noise: true },
  functions: [{ name: "decode", before: 1e8, after: 3e8, change_low: 1.8, change_high: 2.2, beyond_noise: true }, { name: "write", before: 1e8, after: 1.1e8, change_low: -0.1, change_high: 0.3, beyond_noise: false }],
};

export default function fleet({ test, at, go, settled, same, holds, hash, shot, packages }) {
  let opened = [];
  const give = (body) => (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify(body) });
  async function withDatabase(work) {
    opened = [];
    await at().route("**/api/captures*", async (route) => {
      const answer = await route.fetch(), files = await answer.json();
      await route.fulfill({ response: answer, body: JSON.stringify(files.map((one) => ({ ...one, fleet: true }))) });
    });
    await at().route("**/api/fleet?*", give({ database: "cairn", services: [{ name: "shop", runs: 24 }], metrics: [{ name: "wall", unit: "nanoseconds" }, { name: "calls", unit: "" }] }));
    await at().route("**/api/fleet", give({ database: "cairn", services: [{ name: "shop", runs: 24 }], metrics: [] }));
    await at().route("**/api/fleet-diff?*", give(changes));
    await at().route("**/api/fleet-ask?*", (route) => give(answers[new URL(route.request().url()).searchParams.get("question")])(route));
    await at().route("**/api/fleet-open?*", (route) => { opened.push(new URL(route.request().url()).searchParams.get("run")); return give({ file: 1 })(route); });
    try {
      await at().goto("about:blank");
      await go("fleet?before=1.0&after=2.0&service=shop");
      await settled(".fleet .heat rect");
      await work();
    } finally {
      await at().unrouteAll({ behavior: "wait" });
      await at().goto("about:blank");
      await go("flame");
      await settled(".flame canvas");
    }
  }
  const places = (selector, names) => at().$$eval(selector, (all, keys) => all.map((one) => keys.map((key) => Number(one.getAttribute(key)))), names);
  const near = (found, wanted, what) => found.forEach((one, i) => holds(Math.abs(one - wanted[i]) < 0.6, `${what} ${i}: ${one}, not ${wanted[i]}`));

  test("the fleet's charts have even axes, with places for times and durations without spans", () => withDatabase(async () => {
    await shot("fleet");
    const found = await places(".heat rect", ["x", "y", "height"]), hours = cells.map((cell) => (Date.parse(cell.time) - START) / HOUR);
    const wide = (found[found.length - 1][0] - found[0][0]) / 48;
    near(found.map(([x]) => x), hours.map((hour) => found[0][0] + hour * wide), "column");
    const bins = cells.map((cell) => Math.round(2 * Math.log2(cell.at_least))), lowest = found[bins.indexOf(20)][1], high = (lowest - found[bins.indexOf(40)][1]) / 20;
    near(found.map(([, y]) => y), bins.map((bin) => lowest - (bin - 20) * high), "row");
    const labels = await at().$$eval(".heat .grid text", (all) => all.map((one) => Number(one.getAttribute("y"))));
    holds(labels.length > 3, labels.length + " labels");
    labels.slice(1).forEach((y, i) => holds(Math.abs(labels[i] - y - (labels[0] - labels[1])) < 0.6, "labels are even"));
    same((await places(".heat g[data-value]", ["data-value"])).flat(), cells.map((cell) => cell.spans), "numbers of spans");
  }));

  test("the fleet's charts are read and left by keyboard", () => withDatabase(async () => {
    await at().focus("svg.trend");
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight"]) await at().keyboard.press(key);
    same(await at().getAttribute("svg.trend .here", "data-run"), "run2", "the run");
    holds(/^2026-01-05 04:00 1\.0 on host2: 70\.0\sms/.test(await at().textContent(".trend + .note")), "the text of the run");
    await at().focus("svg.heat");
    for (const key of ["Home", "ArrowUp", "ArrowRight"]) await at().keyboard.press(key);
    same(await at().getAttribute("svg.heat .here", "data-run"), "run1", "the cell beside and above");
    await at().keyboard.press("Enter");
    await at().waitForFunction(() => location.hash.includes("file=1"));
    same(opened, ["run1"], "the run that is fetched");
    holds(!(await hash()).includes("fleet"), "the run is shown");
  }));

  test("the fleet's page: no accessibility violations, each control reached by Tab", () => withDatabase(async () => {
    const size = at().viewportSize(), found = [];
    for (const width of [1440, 390]) {
      await at().setViewportSize({ width, height: 900 });
      await settled(".fleet .heat rect");
      found.push(...(await violationsOf(at(), packages, "fleet")));
      await shot("fleet-" + width);
      same(await at().evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "nothing is wider than the page at " + width);
    }
    await at().setViewportSize(size);
    same(found, [], "violations");
    await tabThrough(at(), "fleet", { same, holds });
  }));
}
