// SPDX-License-Identifier: MIT
// The figures of every view against cairn report --json, cairn spans --json and cairn query, on six
// kinds of captures: of C, of Lua, of spans, of allocations, merged, and live.
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";

export default function captures({ test, at, elsewhere, serve, go, settled, quiet, rows, same, holds, json, until, shot, cairn, folder }) {
  const value = (selector) => at().$eval(selector, (one) => Number(one.dataset.value));
  const values = (selector, whats) => at().$$eval(selector, (all, names) => all.map((row) => names.map((name) => Number(row.querySelector(`[data-what="${name}"]`).dataset.value))), whats);
  const sorted = (all) => all.map((one) => JSON.stringify(one)).sort();
  const query = (name, sql) => json("query", "--json", name, sql).rows;

  // The report's tree as a map from a path of blocks to [total, self, calls].
  function treeOf(name, metric) {
    const paths = new Map(), found = new Map();
    for (const one of json("report", "--json", name, "--tree", "--metric", metric, "--top", "0", "--threshold", "0").tree) {
      const path = one.parent === null ? "0" : paths.get(one.parent) + " " + one.block.id;
      paths.set(one.context, path);
      found.set(path, [one.inclusive[metric], one.self[metric], one.calls]);
    }
    return found;
  }

  // Calls that nobody counted are not shown: the root's is that of the thread.
  const counted = (name) => json("report", "--json", name, "--flat", "--metric", "calls", "--top", "0").flat.some((row) => row.block.id && row.calls);
  const shownMetrics = (name) => json("report", "--json", name).metrics.filter((one) => one.total && (one.name !== "calls" || counted(name)));

  async function functions(name, metric) {
    const calls = metric !== "calls" && counted(name);
    for (const sort of ["total", "self"]) {
      await go(`functions?metric=${metric}&sort=${sort}`);
      await settled("tbody tr[data-block]");
      const wanted = json("report", "--json", name, "--flat", "--metric", metric, "--top", "100", "--sort", sort).flat;
      same(await rows("table.blocks tbody tr[data-block]", ["inclusive", "self", ...(calls ? ["calls"] : [])]),
        wanted.map((row) => [row.block.id, row.inclusive[metric], row.self[metric], ...(calls ? [row.calls] : [])]), "functions by " + sort);
    }
    await waits(name, metric);
    await intervals(json("report", "--json", name, "--flat", "--metric", metric, "--top", "100", "--sort", "self").flat, metric);
    for (const one of shownMetrics(name))
      same(await value(`[data-metric="${one.name}"]`), one.total, "the total of " + one.name);
  }

  // With wall and processor time there are columns of what waited, and of what was ready without a core.
  async function waits(name, metric) {
    const columns = ["waits", "ready"], has = metric === "wall" && json("report", "--json", name).metrics.some((one) => one.name === "cpu" && one.total);
    const wanted = has ? json("report", "--json", name, "--flat", "--metric", "wall,cpu", "--top", "100", "--sort", "self").flat.filter((row) => row.inclusive.wall) : [];
    const shown = columns.filter((one) => wanted.some((row) => row[one] !== undefined));
    holds(name !== "waits.cairn" || !has || shown.includes("waits"), "the report says what waits");
    same(await at().$$eval("table.blocks thead th", (all) => all.map((one) => one.textContent).filter((text) => text === "waits" || text === "ready")), shown, "columns");
    same(await rows("table.blocks tbody tr[data-block]", shown), shown.length ? wanted.map((row) => [row.block.id, ...shown.map((one) => row[one] || 0)]) : await rows("table.blocks tbody tr[data-block]", []), "what waits");
  }

  // The page computes the intervals of uncertain figures; it shows three digits of them.
  async function intervals(rows, metric) {
    const shown = await at().$$eval("table.blocks tbody tr[data-block]", (all) => all.map((row) => ["inclusive", "self"].map((what) => row.querySelector(`[data-what="${what}"]`).title)));
    const scale = { "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, B: 1, KiB: 1024, MiB: 1 << 20, GiB: 2 ** 30 };
    rows.forEach((row, i) => ["inclusive", "self"].forEach((what, j) => {
      const wanted = row.interval?.[what]?.[metric], text = shown[i][j];
      same(Boolean(text), Boolean(wanted && row[what][metric]), `an interval of ${row.block.name}`);
      if (!text) return;
      const ends = [...text.matchAll(/([\d,.]+)\s?(ns|µs|ms|s|B|KiB|MiB|GiB)?(?= to|$)/g)].map(([, digits, unit]) => Number(digits.replace(/,/g, "")) * (scale[unit] || 1));
      for (const end of [0, 1]) holds(Math.abs(ends[end] - wanted[end]) <= 0.02 * wanted[end] + 1, `${row.block.name}: ${text}, the command has ${wanted}`);
    }));
  }

  async function callers(name, metric) {
    for (const { block } of json("report", "--json", name, "--flat", "--metric", metric, "--top", "4").flat.filter((row) => row.block.id)) {
      const its = json("report", "--json", name, "--metric", metric, "--focus", "#" + block.id, "--top", "60").sequence;
      await go(`callers?metric=${metric}&focus=${block.id}`);
      await settled('tr[data-step="0"]');
      const figures = (row) => [row.inclusive[metric], row.self[metric], row.calls];
      same(await rows("tr[data-block]", ["inclusive", "self", "calls"]), [...its.before, ...its.after].map((row) => [row.block.id, ...figures(row)]), "callers and callees of " + block.name);
      same(await values('tr[data-step="0"]', ["inclusive", "self", "calls"]), [figures(its)], block.name);
    }
  }

  async function paths(name, metric) {
    const wanted = query(name, `select c.inclusive, c.self, contexts.calls from costs c join contexts on contexts.id = c.context where metric = '${metric}' and self > 0 and context > 0`);
    await go(`paths?metric=${metric}`);
    await settled("main");
    const found = await values("table.blocks tbody tr", ["inclusive", "self", "calls"]);
    // The root alone is no path to click on, but it has costs.
    same(sorted(found.filter((row) => wanted.some((one) => JSON.stringify(one) === JSON.stringify(row)))).length, Math.min(100, wanted.length), "hot paths");
    same(found.length <= wanted.length + 1, true, "no more paths than contexts");
  }

  async function graph(name, metric) {
    const flat = new Map(json("report", "--json", name, "--flat", "--metric", metric, "--top", "0").flat.map((row) => [row.block.id, row]));
    await go(`graph?metric=${metric}&nodes=15`);
    // Few samples may all be outside of functions.
    await settled([...flat].some(([id, row]) => id && row.inclusive[metric]) ? ".graph a.node" : "main");
    for (const [id, ...found] of await at().$$eval(".graph a.node", (all) => all.map((one) => ["block", "inclusive", "self", "calls"].map((what) => Number(one.dataset[what]))))) {
      const row = flat.get(id);
      same(found, [row.inclusive[metric], row.self[metric], row.calls], "node " + row.block.name);
    }
    const edges = await at().$$eval(".graph g.edge", (all) => all.filter((g) => g.querySelector("text")).slice(0, 5).map((g) => [g.dataset.caller, g.dataset.callee, Number(g.querySelector("text").dataset.value)]));
    for (const [a, b, found] of edges)
      same(found, json("report", "--json", name, "--metric", metric, "--focus", `#${a},#${b}`).sequence.inclusive[metric], `arrow from ${a} to ${b}`);
  }

  async function tree(name, metric) {
    const wanted = treeOf(name, metric);
    await go("tree?metric=" + metric);
    await settled('tr[data-row="0"]');
    await at().focus('tr[data-row="0"] button');
    await at().keyboard.press("*");
    await quiet();
    const path = [];
    for (const [depth, block, ...found] of await at().$$eval("tr[data-row]", (all) => all.map((row) => [Number(row.dataset.depth), Number(row.dataset.block),
      ...["inclusive", "self", "calls"].map((what) => Number(row.querySelector(`[data-what="${what}"]`).dataset.value))]))) {
      path.length = depth;
      path.push(block);
      same(found, wanted.get(path.join(" ")), "call tree at " + path.join(" "));
    }
    const whole = wanted.get("0")[0], shown = await at().$$eval("tr[data-row]", (all) => all.length);
    const wide = [...wanted.values()].filter(([total]) => total > whole / 500).length;
    holds(shown >= Math.min(2000, wide), `${shown} rows of the call tree, ${wide} have more than 1/500`);
  }

  // Walks down the first boxes of the flame graph by keys.
  async function flame(name, metric) {
    const wanted = treeOf(name, metric);
    const details = () => at().$eval(".details", (one) => [Number(one.dataset.block), ...["inclusive", "self", "calls"].map((what) => Number(one.querySelector(`[data-what="${what}"]`)?.dataset.value || 0))]);
    await go("flame?metric=" + metric);
    await settled(".flame canvas");
    same((await details()).slice(1, 3), wanted.get("0").slice(0, 2), "the whole");
    await at().focus(".flame canvas");
    const path = ["0"];
    await at().keyboard.press("Home");
    for (let depth = 0; depth < 6; depth++) {
      await at().keyboard.press("ArrowDown");
      await quiet();
      const [block, ...found] = await details();
      const below = wanted.get([...path, block].join(" "));
      if (!below) break; // the last box stays selected, or it stands for several narrow ones
      path.push(block);
      same(found, below, "box at " + path.join(" "));
    }
    holds(path.length > 1 || wanted.get("0")[0] === wanted.get("0")[1], "no box was compared");
    await go(`flame?metric=${metric}&callers=1`);
    await settled(".flame canvas");
    same(await value('.details [data-what="inclusive"]'), wanted.get("0")[0], "bottom-up");
  }

  async function source(name, metric) {
    const flat = json("report", "--json", name, "--flat", "--metric", metric, "--top", "0").flat, sums = new Map();
    for (const { block, self, calls } of flat.filter((row) => row.block.file)) {
      const its = sums.get(block.file) || [0, 0, 0];
      sums.set(block.file, [its[0] + self[metric], its[1] + calls, its[2] + 1]);
    }
    if (!sums.size) return;
    await go("source?metric=" + metric);
    await settled("tr[data-file]");
    same(sorted(await at().$$eval("tr[data-file]", (all) => all.map((row) => [row.dataset.file, ...["self", "calls", "blocks"].map((what) => Number(row.querySelector(`[data-what="${what}"]`).dataset.value))]))),
      sorted([...sums].map(([file, figures]) => [file, ...figures])), "files");
    const first = flat.find((row) => row.block.file && row.self[metric]) || flat.find((row) => row.block.file);
    await go(`source?metric=${metric}&block=${first.block.id}`);
    await settled("h2.file");
    if (await at().$("tr.here"))
      same(await values("tr.here", ["inclusive", "self", "calls"]), [[first.inclusive[metric], first.self[metric], first.calls]], "the line of " + first.block.name);
  }

  async function difference(name, metric, other) {
    if (!json("report", "--json", other).metrics.some((one) => one.name === metric && one.total)) return;
    await go(`diff?metric=${metric}`);
    await settled("table.sides tbody tr");
    const diff = json("diff", "--json", name, other, "--metric", metric, "--top", "60");
    same(await values("table.sides tbody tr", ["before", "after", "change"]), diff.blocks.map((row) => [row.self.before, row.self.after, row.self.after - row.self.before]), "difference");
    same(await at().$$eval(".totals > [data-value]", (all) => all.map((one) => Number(one.dataset.value))), [diff.total.before, diff.total.after], "totals of the difference");
  }

  async function sql(name, metric) {
    const text = `select context, self, inclusive from costs where metric = '${metric}' order by self desc, context limit 40`;
    await go("sql?q=" + encodeURIComponent(text));
    await settled('[data-what="result"] tbody tr');
    same(await at().$$eval('[data-what="result"] tbody tr', (all) => all.map((row) => [...row.querySelectorAll("td")].map((one) => Number(one.dataset.value)))), query(name, text), "SQL");
  }

  // The strip on every page has the lines of the report.
  async function measured(name) {
    const report = spawnSync(cairn, ["report", name], { cwd: folder, encoding: "utf8" }).stdout.split("\n");
    const lines = await at().$$eval('[data-what="measured"] [data-line]', (all) => all.map((one) => one.dataset.line + " " + one.lastChild.textContent.trim()));
    holds(lines.length, "how the figures were measured");
    for (const line of lines) holds(report.some((one) => one.replace(/\s+/g, " ").trim() === line.replace(/\s+/g, " ").trim()), `the report has no line "${line}"`);
  }

  async function spans(name) {
    const all = json("spans", "--json", name, "--top", "0");
    await go("spans?");
    await settled("tr[data-block]");
    same(await rows("table.blocks tbody tr[data-block]", ["total", "self", "count", "median", "p99", "max"]), all.blocks.map((row) => [row.block.id, row.total, row.self, row.count, row.median, row.p99, row.max]), "span names");
    await go("slowest?");
    await settled("tr[data-span]");
    same(await at().$$eval("tr[data-span]", (list) => list.map((row) => [Number(row.dataset.span), Number(row.querySelector('[data-what="duration"]').dataset.value)])),
      json("spans", "--json", name, "--slowest=100").slowest.map((one) => [one.id, one.duration]), "slowest");
    await go("missing?");
    await settled('[data-what="missing"]');
    const missing = json("spans", "--json", name, "--missing");
    same([await value('[data-what="missing"]'), await value(".totals span:nth-child(2) b")], [missing.missing, missing.total], "missing");
    await go("timeline?");
    await settled(".lanes canvas");
    const number = async (what) => Number((await at().textContent(`[data-what="${what}"]`)).replace(/\D/g, ""));
    same([await number("spans"), await number("handoffs")], query(name, "select count(*), sum(handed_off) from spans")[0], "spans and hand-offs of the timeline");
    await go("span-tree?");
    await settled(".flame canvas");
    same(await value('.details [data-what="inclusive"]'), query(name, "select sum(self) from spans")[0][0], "the whole span tree");
    for (const { block, count, median, p99 } of all.blocks.filter((row) => row.count > 1).slice(0, 3)) {
      await go("iterations?block=" + block.id);
      await settled('form.range [data-what="p99"]');
      same([await value('form.range [data-what="median"]'), await value('form.range [data-what="p99"]')], [median, p99], "iterations of " + block.name);
      same(Number((await at().textContent(".tools > .note")).replace(/ span.*/, "").replace(/\D/g, "")), count, "number of iterations");
      const theirs = json("explain", "--json", name, block.name);
      await go("explain?block=" + block.id);
      await settled('[data-what="answer"]');
      same([await at().textContent('[data-what="answer"]'), await at().$$eval('[data-what="share"]', (list) => list.map((one) => Number(one.dataset.value)))], [theirs.answer, theirs.parts.map((row) => row.share)], "explanation of " + block.name);
    }
    const replay = json("whatif", "--json", name);
    await go("whatif?");
    await settled('[data-what="effects"]');
    same([await value('[data-what="recorded"]'), await value('[data-what="replayed"]')], [replay.recorded, replay.replayed], "what-if");
  }

  async function compare(name, other) {
    const served = await serve([name, other]);
    try {
      await elsewhere(served.address, async () => {
        const its = shownMetrics(name);
        holds(its.length, "the capture has costs");
        for (const { name: metric } of its)
          for (const view of [functions, callers, paths, graph, tree, flame, source, difference, sql]) {
            try {
              await view(name, metric, other);
            } catch (error) {
              throw new Error(`${view.name} by ${metric}: ${error.message}`);
            }
          }
        await measured(name);
        if (Number(query(name, "select count(*) from spans")[0][0])) await spans(name);
        await shot("capture-" + name.replace(".cairn", ""));
      });
    } finally {
      served.stop();
    }
  }

  for (const name of ["c.cairn", "lua.cairn", "jobs.cairn", "alloc.cairn", "merged.cairn", "waits.cairn"])
    test(name + ": every view shows the figures of the commands", () => compare(name, name === "c.cairn" ? "merged.cairn" : "c.cairn"));

  // The program is stopped meanwhile, so that the page and the commands read the same state.
  test("a live capture: every view shows the figures of the commands", async () => {
    const program = spawn(process.env.LIVE, [join(folder, "still.cairn"), "60", "2", "0", "0.002", "calm"], { stdio: "ignore" });
    try {
      const calls = () => spawnSync(cairn, ["query", "--csv", "still.cairn", "select total from metrics where name = 'calls'"], { cwd: folder, encoding: "utf8" }).stdout.split("\n")[1];
      await until(() => Number(calls()) > 1000, "the program records");
      program.kill("SIGSTOP");
      await compare("still.cairn", "c.cairn");
    } finally {
      program.kill("SIGKILL");
    }
  });
}
