// SPDX-License-Identifier: MIT
// The pages Functions: figures over all callers. Hot paths: whole paths. Callers & callees: of a
// function, or of a sequence of functions.
import { Block, File, Items, isLive, useAnswer, useStill } from "./data";
import { count, figure, share } from "./format";
import { useMemo } from "preact/hooks";
import { BlockName, Cost, Drop, Figure, Named, Place, Problem, Transforms, Waiting, callsCounted, dropOf, useFirst, useMeasured } from "./parts";
import { scope, to } from "./route";
import { likelyBelow, likelyOf } from "./sampling";
import { matches } from "./search";

const MORE = 10, ROWS_MAX = 1000, SEARCHED_MAX = 20000;

function more(place: Place, shown: number, hidden: number) {
  if (!hidden) return null;
  const top = String(shown * MORE);
  return (
    <p class="more">
      <a href={to(place.route, { rest: { ...place.route.rest, top } })}>
        {count(hidden)} more {hidden === 1 ? "row" : "rows"}: show {count(Math.min(hidden, shown * (MORE - 1)))} of them
      </a>
    </p>
  );
}

function Heading({ place, name, sort, default: standard }: { place: Place; name: string; sort: string; default: string }) {
  return (
    <th scope="col" class="figure" aria-sort={sort === name ? "descending" : "none"}>
      <a href={to(place.route, { rest: { ...place.route.rest, sort: name === standard ? "" : name } })}>{name}</a>
    </th>
  );
}

// Asks for processor time beside wall time: then the server also says what waited, and what was
// ready without a core.
function withWaits(file: File, metric: string, items: Items): Items {
  if (!isLive() || metric !== "wall" || !file.metrics.some((one) => one.name === "cpu")) return items;
  return [...items.filter(([key]) => key !== "metric"), ["metric", "wall,cpu"]];
}

const waitColumns: [string, string][] = [["waits", "Wall time in which the function neither had a core nor was ready to use one"], ["ready", "Wall time in which it was ready and no core was free"]];

export function BlocksPage({ place, search }: { place: Place; search: string }) {
  const { route } = place;
  const sort = route.rest.sort || "total", top = search ? String(SEARCHED_MAX) : route.rest.top || "100";
  const { data, error, waiting } = useAnswer("report",
    [...withWaits(place.file, place.metric, scope(route)), ["view", "flat"], ["sort", sort], ["top", top]], place.file.generation);
  return useStill(waiting, () => error ? <Problem text={error} /> : data
    ? <Blocks place={place} search={search} data={data} sort={sort} /> : <Waiting what="Computing the table" />);
}

function Blocks({ place, search, data, sort }: { place: Place; search: string; data: any; sort: string }) {
  const { route, metric, unit } = place;
  const whole = data.metrics.find((m: any) => m.name === metric)?.total || 0;
  const calls = metric !== "calls" && callsCounted(place.file), waits = waitColumns.filter(([name]) => data.flat.some((row: any) => row[name] !== undefined));
  const found = useMemo(() => data.flat.filter((row: any) => (row.inclusive[metric] || row.calls) && (!search || matches(row.block, search))), [data, metric, search]);
  const rows = useFirst<any>(useMemo(() => found.slice(0, ROWS_MAX), [found]));
  return (
    <>
      {!route.focus.length && !route.drops.length && !route.transforms.length && <Summary report={data} place={place} />}
      <table class="blocks stacked">
        <caption class="unseen">Functions over all callers</caption>
        <thead>
          <tr>
            <Heading place={place} name="total" sort={sort} default="total" />
            <Heading place={place} name="self" sort={sort} default="total" />
            {waits.map(([name, title]) => <th scope="col" class="figure" title={title}>{name}</th>)}
            {calls && <Heading place={place} name="calls" sort={sort} default="total" />}
            <th scope="col">function</th>
            <th scope="col"><span class="unseen">actions</span></th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.block.id} data-block={row.block.id}>
              <Cost what="inclusive" value={row.inclusive[metric]} whole={whole} unit={unit} interval={likelyBelow(place, row.block, row.inclusive[metric])} />
              <Cost what="self" value={row.self[metric]} whole={whole} unit={unit} interval={likelyOf(place, row.self[metric])} />
              {waits.map(([name]) => <Figure what={name} value={row[name] || 0} unit="nanoseconds" />)}
              {calls && <Figure what="calls" value={row.calls} unit="" />}
              <th scope="row"><BlockName block={row.block} place={place} /></th>
              <td class="acts"><Drop block={row.block} place={place} /><Transforms block={row.block} place={place} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      {search ? <p class="note">{count(found.length)} of {count(data.flat.length)} functions match the search{found.length > ROWS_MAX ? "; the first " + count(ROWS_MAX) + " are shown" : ""}</p> : more(place, data.flat.length, data.hidden)}
    </>
  );
}

const told: [string, string][] = [["command", "command"], ["started", "started"], ["host", "host"], ["mode", "mode"]];

function Summary({ report, place }: { report: any; place: Place }) {
  const its = useMeasured(place), sum = (name: string) => report.metrics.find((m: any) => m.name === name);
  return (
    <section class="summary" aria-label="The run">
      <dl>
        {told.map(([key, text]) => report.notes[key] && <div><dt>{text}</dt><dd>{key === "command" && report.notes.command.split(" | ").length <= Number(report.notes.merged) ? report.notes.command.split(" | ").map((one: string) => <div>{one}</div>) : report.notes[key]}</dd></div>)}
        {place.file.metrics.map((m: any) => (
          <div><dt>{m.name}</dt><dd data-metric={m.name} data-value={m.total}>{figure(m.total, m.unit)}</dd></div>
        ))}
        <div><dt>contexts</dt><dd data-value={report.contexts}>{count(report.contexts)}</dd></div>
        {its && <div><dt>functions</dt><dd data-what="functions" data-value={its.functions}>{count(its.functions)}</dd></div>}
        {report.folded_calls > 0 && (
          <div class="warn"><dt>folded at limits</dt><dd>{count(report.folded_calls)} calls, {share(report.folded_calls, sum("calls")?.total || 0)}</dd></div>
        )}
        {report.state !== "ended" && (
          <div class="warn"><dt>state</dt><dd>{report.state}{report.unaccounted_ns ? "; " + figure(report.unaccounted_ns, "nanoseconds") + " unaccounted" : ""}</dd></div>
        )}
      </dl>
      {report.warnings.map((text: string) => <p class="warning">{text}</p>)}
      {place.file.foreign && <p class="warning">This file is from another tool; data that its format lacks are missing.</p>}
    </section>
  );
}

// ---- sequences

const PATHS_MAX = 1000; // the server's limit

export function SequencesPage({ place, search }: { place: Place; search: string }) {
  const { route } = place;
  const top = search ? String(PATHS_MAX) : route.rest.top || "100";
  const { data, error, waiting } = useAnswer<any>("sequences", [...scope(route), ["top", top]], place.file.generation);
  return useStill(waiting, () => error ? <Problem text={error} /> : data ? <Sequences place={place} data={data} top={top} search={search} />
    : <Waiting what="Finding the hot paths" />);
}

function Sequences({ place, data, top, search }: { place: Place; data: any; top: string; search: string }) {
  const { route, unit } = place;
  const found = useMemo(() => {
    if (!search) return data.sequences;
    const its = new Set(Object.entries<Block>(data.blocks).filter(([, block]) => matches(block, search)).map(([id]) => Number(id)));
    return data.sequences.filter((row: any) => row.path.some((id: number) => its.has(id)));
  }, [data, search]);
  const rows = useFirst<any>(found);
  return (
    <>
      <table class="blocks stacked">
        <caption class="unseen">Call paths by the self cost of their last function</caption>
        <thead>
          <tr>
            <th scope="col" class="figure">total</th>
            <th scope="col" class="figure" aria-sort="descending">self</th>
            <th scope="col" class="figure" data-what="calls">calls</th>
            <th scope="col">path</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              <Cost what="inclusive" value={row.inclusive} whole={data.total} unit={unit} interval={likelyOf(place, row.inclusive)} />
              <Cost what="self" value={row.self} whole={data.total} unit={unit} interval={likelyOf(place, row.self)} />
              <Figure what="calls" value={row.calls} unit="" />
              <th scope="row"><Path path={row.path} blocks={data.blocks} place={place} /></th>
            </tr>
          ))}
        </tbody>
      </table>
      {search && <p class="note">{count(found.length)} of the {count(data.sequences.length)} most expensive paths match the search</p>}
      {!search && data.sequences.length >= Number(top) && Number(top) < PATHS_MAX && (
        <p class="more"><a href={to(route, { rest: { ...route.rest, top: String(Number(top) * MORE) } })}>more paths</a></p>
      )}
    </>
  );
}

const SHOWN = 6;

// Each function of a path leads to the sequence from it to the path's end.
function Path({ path, blocks, place }: { path: number[]; blocks: Record<string, Block>; place: Place }) {
  const first = Math.max(0, path.length - SHOWN);
  const link = (i: number) => to(place.route, { page: "callers", focus: path.slice(i) });
  return (
    <span class="path">
      {first > 0 && <a href={link(0)} title="Show the whole path">… {first} more</a>}
      {path.slice(first).map((id, i) => (
        <a class={i + first === path.length - 1 ? "name last" : "name"} href={link(i + first)}>{blocks[id] ? <Named block={blocks[id]} /> : "#" + id}</a>
      ))}
    </span>
  );
}

// ---- one sequence

function Neighbours({ rows, drawn, title, none, place, whole, extend }: {
  rows: any[]; drawn: number; title: string; none: string; place: Place; whole: number; extend: (id: number) => number[];
}) {
  const { unit, metric } = place;
  return (
    <tbody>
      <tr class="section"><th colSpan={5} scope="rowgroup">{rows.length ? title : none}</th></tr>
      {rows.slice(0, Math.max(0, drawn)).map((row) => (
        <tr key={row.block.id} data-block={row.block.id}>
          <Cost what="inclusive" value={row.inclusive[metric]} whole={whole} unit={unit} interval={likelyOf(place, row.inclusive[metric])} />
          <Cost what="self" value={row.self[metric]} whole={whole} unit={unit} interval={likelyOf(place, row.self[metric])} />
          <Figure what="calls" value={row.calls} unit="" />
          <th scope="row"><BlockName block={row.block} place={place} focus={extend(row.block.id)} /></th>
          <td class="acts"><Drop block={row.block} place={place} /></td>
        </tr>
      ))}
    </tbody>
  );
}

export function SequencePage({ place, search }: { place: Place; search: string }) {
  const { route } = place, { focus } = route;
  const near = useAnswer(focus.length ? "report" : null, [...scope(route), ["top", search ? String(SEARCHED_MAX) : route.rest.top || "60"]], place.file.generation);
  const steps = useAnswer<any[]>(focus.length ? "steps" : null, scope(route), place.file.generation);
  const shown = useStill(near.waiting || steps.waiting, () => near.error || steps.error ? <Problem text={near.error || steps.error} />
    : near.data && steps.data ? <Sequence place={place} near={near.data} steps={steps.data} search={search} /> : <Waiting what="Computing the sequence" />);
  return focus.length ? shown : <BlocksPage place={place} search={search} />;
}

function Sequence({ place, near, steps, search }: { place: Place; near: any; steps: any[]; search: string }) {
  const { route, metric, unit } = place, { focus } = route;
  const whole = near.metrics.find((m: any) => m.name === metric)?.total || 0;
  const its = useMemo(() => {
    const those = (rows: any[]) => (search ? rows.filter((row) => matches(row.block, search)) : rows);
    return { ...near.sequence, before: those(near.sequence.before), after: those(near.sequence.after) };
  }, [near, search]);
  const none = (text: string) => (search ? "none that match the search" : text);
  const last = steps.length - 1, around = useMemo(() => [...its.before, ...its.after], [its]), drawn = useFirst(around).length;
  return (
    <>
      <div class="tools" role="toolbar" aria-label="This function">
        <a class="button" href={to(route, { page: "flame" })}>flame graph</a>
        <a class="button" href={to(route, { page: "flame", rest: { callers: "1" } })}>flame graph of callers</a>
        <a class="button" href={to(route, { page: "graph" })}>call graph</a>
      </div>
      <table class="blocks stacked sequence">
        <caption class="unseen">Callers and callees</caption>
        <thead>
          <tr>
            <th scope="col" class="figure">total</th>
            <th scope="col" class="figure">self</th>
            <th scope="col" class="figure" data-what="calls">calls</th>
            <th scope="col">function</th>
            <th scope="col"><span class="unseen">actions</span></th>
          </tr>
        </thead>
        <Neighbours rows={its.before} drawn={drawn} title="Callers" none={"Callers: " + none("none")} place={place}
          whole={whole} extend={(id) => (id ? [id, ...focus] : focus)} />
        <tbody class="chosen">
          <tr class="section"><th colSpan={5} scope="rowgroup">{focus.length === 1 ? "the function" : "the sequence, with the cost up to each function"}</th></tr>
          {steps.map((step, i) => (
            <tr class={i === last ? "tip" : ""} data-step={i}>
              <Cost what="inclusive" value={step.inclusive} whole={whole} unit={unit} interval={likelyOf(place, step.inclusive)} />
              <Cost what="self" value={step.self} whole={whole} unit={unit} interval={likelyOf(place, step.self)} />
              <Figure what="calls" value={step.calls} unit="" />
              <th scope="row">
                <div class="stepped">
                  {focus.length > 1 && <span class="arrow" aria-hidden="true">{i ? "→" : ""}</span>}
                  <BlockName block={step.block} place={place} focus={focus.slice(0, i + 1)} />
                </div>
              </th>
              <td class="acts">
                {focus.length > 1 && (i === 0 || i === last) && (
                  <a class="act" href={to(route, { focus: i === 0 ? focus.slice(1) : focus.slice(0, -1) })}
                    aria-label={"Remove " + step.block.name + " from the sequence"}>shorten</a>
                )}
                <a class="act" data-act="drop" href={dropOf(place, step.block, "functions")} aria-label={"Exclude " + step.block.name}
                  onClick={(event) => { event.preventDefault(); location.hash = to(route, { page: "functions", focus: [], drops: [...route.drops, [step.block.id]], rest: {} }); }}>exclude</a>
              </td>
            </tr>
          ))}
        </tbody>
        <Neighbours rows={its.after} drawn={drawn - its.before.length} title="Callees" none={"Callees: " + none("none")} place={place}
          whole={whole} extend={(id) => [...focus, id]} />
      </table>
    </>
  );
}
