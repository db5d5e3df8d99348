// SPDX-License-Identifier: MIT
// The runs in a fleet's database: cost by run and version, durations of spans over time, functions by
// cost, and what changed between two versions. Runs that are to be looked at closely become files.
import { useState } from "preact/hooks";
import { Items, ask, reload, useAnswer } from "./data";
import { Cell, Heat, Run, Trend, moment } from "./fleet_charts";
import { base, count, figure, time } from "./format";
import { Place, Problem, Waiting } from "./parts";
import { Route, go, to, write } from "./route";

const AGES: [string, string][] = [["", "all runs"], ["1d", "last day"], ["7d", "last 7 days"], ["4w", "last 4 weeks"], ["26w", "last half year"]];

const whereItems = (rest: Record<string, string>): Items => [
  ["service", rest.service || ""],
  ...(rest.since ? [["where", "since=" + rest.since] as [string, string]] : []),
  ...(rest.version ? [["where", "version=" + rest.version] as [string, string]] : []),
];

// Asks the server to fetch runs as a file, and shows it.
function useOpen(route: Route): { say: string; open: (items: Items, page: string) => void; compare: (one: Items, other: Items) => void } {
  const [say, setSay] = useState("");
  const fetchOne = async (items: Items): Promise<number> => (await ask("fleet-open", items)).file;
  const guard = async (work: () => Promise<string>) => {
    setSay("Fetching from the database…");
    try {
      const href = await work();
      await reload.files();
      setSay("");
      go(href);
    } catch (problem) {
      setSay(String((problem as Error).message || problem));
    }
  };
  const plain: Partial<Route> = { focus: [], drops: [], transforms: [], choice: null, search: "", rest: {} };
  return {
    say,
    open: (items, page) => void guard(async () => to(route, { ...plain, file: await fetchOne(items), page })),
    compare: (one, other) => void guard(async () => {
      const before = await fetchOne(one), after = await fetchOne(other);
      return to(route, { ...plain, file: after, page: "diff", rest: { before: String(before), after: String(after) } });
    }),
  };
}

function Top({ rows, unit, chosen, choose }: { rows: any[]; unit: string; chosen: string; choose: (name: string) => string }) {
  const most = Math.max(1, ...rows.map((row) => row.self));
  return (
    <table class="blocks stacked">
      <caption class="unseen">Functions by cost over all runs</caption>
      <thead><tr>{["self", "total", "calls", "runs", "span p99"].map((name) => <th scope="col" class="figure">{name}</th>)}<th scope="col">function</th></tr></thead>
      <tbody>
        {rows.map((row) => (
          <tr data-name={row.name} aria-current={row.name === chosen ? "true" : undefined}>
            <td class="cost" data-value={row.self}><span class="bar" style={{ width: ((100 * row.self) / most).toFixed(2) + "%" }} aria-hidden="true" /><span class="value">{figure(row.self, unit)}</span></td>
            <td class="figure">{figure(row.total, unit)}</td><td class="figure">{count(row.calls)}</td><td class="figure">{count(row.runs)}</td>
            <td class="figure">{row["span p99"] ? time(row["span p99"]) : "–"}</td>
            <td class="block"><a class="name" href={choose(row.name)}>{row.name}</a> {row.file && <span class="where">{base(row.file) + (row.line ? ":" + row.line : "")}</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Changes({ items, before, after }: { items: Items; before: string; after: string }) {
  const { data, error } = useAnswer<any>("fleet-diff", [...items, ["before", "version=" + before], ["after", "version=" + after]], 0);
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Comparing" />;
  const percent = (row: any): string => (row.before > 0 ? ((100 * row.after) / row.before - 100).toFixed(1).replace(/^(?!-)/, "+") + " %" : "new");
  return (
    <>
      <p class="note">{count(data.runs_before)} and {count(data.runs_after)} runs; all: {figure(data.whole.before, data.unit)} → {figure(data.whole.after, data.unit)} a run, {percent(data.whole)}, {data.whole.beyond_noise ? "beyond noise" : "within noise"}</p>
      <table class="blocks stacked">
        <caption class="unseen">Functions whose cost changed</caption>
        <thead><tr>{["before", "after", "change", "95 % interval"].map((name) => <th scope="col" class="figure">{name}</th>)}<th scope="col">verdict</th><th scope="col">function</th></tr></thead>
        <tbody>
          {data.functions.map((row: any) => (
            <tr data-name={row.name} data-sure={row.beyond_noise ? "1" : undefined}>
              <td class="figure">{figure(row.before, data.unit)}</td><td class="figure">{figure(row.after, data.unit)}</td><td class="figure">{percent(row)}</td>
              <td class="figure">{row.change_low === null ? "" : (100 * row.change_low).toFixed(1) + " to " + (100 * row.change_high).toFixed(1)}</td>
              <td>{!row.beyond_noise ? "within noise" : row.after > row.before ? "slower" : "faster"}</td>
              <td class="block"><span class="name">{row.name}</span></td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Select({ label, value, options, change }: { label: string; value: string; options: [string, string][]; change: (value: string) => void }) {
  return (
    <label>{label}{" "}
      <select value={value} onChange={(event) => change(event.currentTarget.value)}>
        {options.map(([key, text]) => <option value={key} selected={key === value}>{text}</option>)}
      </select>
    </label>
  );
}

export function FleetPage({ place }: { place: Place }) {
  const { route } = place, { rest } = route;
  const fleet = useAnswer<any>("fleet", [], 0);
  const service = rest.service ?? fleet.data?.services[0]?.name ?? "";
  const chosen = { ...rest, service };
  const items = whereItems(chosen), ready = fleet.data?.services.length ? true : null;
  const all = whereItems({ ...chosen, version: "" });
  const about = useAnswer<any>(ready && "fleet", [["service", service]], 0);
  const metrics: { name: string; unit: string }[] = about.data?.metrics || [];
  const metric = metrics.find((one) => one.name === rest.of_metric) || metrics[0];
  const known = ready && metric ? true : null, cost: Items = metric ? [["metric", metric.name]] : [];
  const block: Items = rest.function ? [["block", rest.function]] : [];
  const history = useAnswer<Run[]>(known && "fleet-ask", [...all, ...cost, ["question", "history"], ["top", "2000"], ...block], 0);
  const span = history.data && history.data.length ? moment(history.data[history.data.length - 1].started) - moment(history.data[0].started) : 0;
  const step = Math.max(1, Math.ceil(span / 1000 / 48));
  const heat = useAnswer<Cell[]>(history.data && "fleet-ask", [...items, ["question", "heat"], ["step", String(step)], ...block], 0);
  const top = useAnswer<any[]>(known && "fleet-ask", [...items, ...cost, ["question", "top"], ["top", "25"]], 0);
  const { say, open, compare } = useOpen(route);
  const set = (change: Record<string, string>) => write({ ...route, page: "fleet", rest: { ...chosen, ...change } });
  if (fleet.error) return <Problem text={fleet.error} />;
  if (!fleet.data) return <Waiting what="Asking the database" />;
  if (!fleet.data.database) return <p class="note">cairn view --fleet URL shows the runs of a fleet's database here.</p>;
  if (!fleet.data.services.length) return <p class="note">The database has no runs; send captures with cairn push.</p>;
  const versions = [...new Set((history.data || []).map((run) => run.version))];
  const options = versions.map((name): [string, string] => [name, name || "no version"]);
  const measure = metric?.unit || "";
  const pick = (run: string) => open([["run", run]], "");
  const two = rest.before !== undefined && rest.after !== undefined && rest.before !== rest.after;
  return (
    <div class="fleet">
      <div class="controls">
        <Select label="service" value={service} options={fleet.data.services.map((one: any) => [one.name, one.name + " (" + count(one.runs) + ")"])} change={(value) => go(write({ ...route, page: "fleet", rest: { service: value, since: rest.since || "" } }))} />
        <Select label="time" value={rest.since || ""} options={AGES} change={(value) => go(set({ since: value }))} />
        <Select label="version" value={rest.version || ""} options={[["", "all"], ...options.filter(([name]) => name)]} change={(value) => go(set({ version: value }))} />
        {metrics.length > 1 && <Select label="metric" value={metric.name} options={metrics.map((one) => [one.name, one.name])} change={(value) => go(set({ of_metric: value }))} />}
        <button type="button" onClick={() => open(items, "flame")}>Flame graph of these runs</button>
        {rest.function && <span class="step">function {rest.function} <a class="x" href={set({ function: "" })} aria-label={"Show all functions in place of " + rest.function}>×</a></span>}
        <span class="said" role="status">{say}</span>
      </div>
      <h2>{rest.function ? "Total of " + rest.function : "Cost"} by run</h2>
      {history.error ? <Problem text={history.error} /> : !history.data ? <Waiting what="Asking for the runs" /> : <Trend runs={history.data} unit={measure} pick={pick} />}
      <h2>Durations of {rest.function ? "spans of " + rest.function : "all spans"}</h2>
      {heat.error ? <Problem text={heat.error} /> : !heat.data ? <Waiting what="Asking for the spans" /> : <Heat cells={heat.data} step={step} pick={pick} />}
      <h2>Two versions</h2>
      <div class="controls">
        <Select label="before" value={rest.before ?? ""} options={[["", "choose"], ...options.filter(([name]) => name)]} change={(value) => go(set({ before: value }))} />
        <Select label="after" value={rest.after ?? ""} options={[["", "choose"], ...options.filter(([name]) => name)]} change={(value) => go(set({ after: value }))} />
        {two && <button type="button" onClick={() => compare(whereItems({ ...chosen, version: rest.before }), whereItems({ ...chosen, version: rest.after }))}>Compare as flame graphs</button>}
      </div>
      {two && <Changes items={[...all, ...cost]} before={rest.before} after={rest.after} />}
      <h2>Functions</h2>
      {top.error ? <Problem text={top.error} /> : !top.data ? <Waiting what="Asking for the functions" /> : <Top rows={top.data} unit={measure} chosen={rest.function || ""} choose={(name) => set({ function: name })} />}
    </div>
  );
}
