// SPDX-License-Identifier: MIT
// Explanations of varying durations, and predictions for faster parts.
import { Block, Items, fullName, useAnswer } from "./data";
import { change, count, share, time } from "./format";
import { Named, Place, Problem, Waiting } from "./parts";
import { go, replace, to } from "./route";
import { matches } from "./search";
import { chosenItems } from "./span";

const percent = (part: number): string => (100 * part).toFixed(1).replace(/^-0\.0$/, "0.0") + " %";

interface Spanned { block: Block; count: number; }

// Returns the blocks that have spans, and the default one.
function useSpanned(place: Place): { spanned: Spanned[]; first: number } {
  const { data } = useAnswer<any>("iterations", [["file", String(place.route.file)], ["points", "1"]], place.file.generation);
  return { spanned: data ? data.blocks : [], first: data ? data.block.id : 0 };
}

// ---- explain

function partText(row: any): string {
  switch (row.part) {
    case "self": return "self time, per span";
    case "waiting": return "waiting, per span";
    case "ready": return "ready, no core free, per span";
    case "number": return "calls of " + row.block.name + ", per span";
    case "duration": return "duration of " + row.block.name + ", per call";
    default: return "overlap of " + row.block.name + " with others";
  }
}

function partValue(row: any, value: number | null): string {
  if (value === null) return "–";
  if (row.part === "number") return value.toFixed(2) + " ×";
  return row.part === "overlap" ? percent(value) : time(value);
}

const factorText = (row: any): string => ({
  attribute: row.name, parent_attribute: "parent's " + row.name, iteration: "iteration number",
  parent_iteration: "parent's iteration number", parent: "parent", lane: "lane",
} as Record<string, string>)[row.of] || row.of;

function groupText(group: any): string {
  if (!group) return "";
  const value = group.value === undefined ? count(group.from) + " to " + count(group.to)
    : group.value && group.value.name ? group.value.name : group.value === null ? "none" : String(group.value);
  return value + ": " + time(group.mean) + " (" + count(group.count) + ")";
}

// Shows in which functions slow spans spend more processor time, by the samples taken in the spans.
function Functions({ data, has }: { data: any; has: (text: string) => boolean }) {
  if (!data) return null;
  const whole = data.slow - data.typical, rows = data.list.filter((row: any) => has(row.block.name));
  const samples = `${count(data.slow_samples)} samples in slow spans, ${count(data.typical_samples)} in typical ones`;
  if (!data.list.length) return <p class="note" data-what="no-functions">Processor time of functions: no difference is beyond chance ({samples}).</p>;
  if (!rows.length) return null; // none matches the search
  return (
    <table class="blocks stacked" tabIndex={0} data-what="functions">
      <caption>Processor time of functions in slow spans, each with what it calls: {samples}. Differences within chance are left out.</caption>
      <thead><tr><th scope="col" class="figure">extra per slow span</th><th scope="col" class="figure">95 % interval</th><th scope="col" class="figure">typical spans</th><th scope="col" class="figure">slow spans</th><th scope="col">function</th></tr></thead>
      <tbody>
        {rows.map((row: any) => {
          const extra = row.slow - row.typical;
          return (
            <tr>
              <td class="cost" data-what="extra" data-value={extra}>
                <span class="bar" style={{ width: (whole > 0 ? 100 * Math.max(0, Math.min(1, extra / whole)) : 0).toFixed(2) + "%" }} aria-hidden="true" />
                <span class="value">{(extra < 0 ? "−" : "+") + time(Math.abs(extra))}</span>
              </td>
              <td class="figure">± {time(2 * row.error)}</td>
              <td class="figure">{time(row.typical)}</td>
              <td class="figure">{time(row.slow)}</td>
              <th scope="row" style={{ paddingLeft: Math.min(row.depth, 24) + "em" }}><Named block={row.block} /></th>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

export function ExplainPage({ place, search }: { place: Place; search: string }) {
  const { route } = place, { spanned, first } = useSpanned(place);
  const items: Items = [["file", String(route.file)], ...chosenItems(route)];
  const wanted = route.rest.block || (route.choice ? String(route.choice.of) : "");
  if (wanted) items.push(["block", wanted]);
  const { data, error } = useAnswer<any>("explain", items, place.file.generation);
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Analysing the spans" />;
  const now = spanned.find((one) => one.block.id === Number(wanted || first));
  const has = (text: string) => !search || text.toLowerCase().includes(search.toLowerCase());
  const parts = data.parts.filter((row: any) => has(partText(row))), factors = data.factors.filter((row: any) => has([factorText(row), groupText(row.slowest), groupText(row.fastest)].join("\n")));
  return (
    <>
      <div class="tools" role="toolbar" aria-label="Explain">
        <label class="group"><b>spans of</b>
          <select value={now ? String(now.block.id) : ""} onChange={(event) => go(to(route, { rest: { block: (event.target as HTMLSelectElement).value } }))}>
            {spanned.map((one) => <option value={String(one.block.id)}>{fullName(one.block)} ({count(one.count)})</option>)}
          </select>
        </label>
        <span class="note">{count(data.count)} spans, {time(data.mean)} on average ± {time(data.deviation)}; median {time(data.median)}, 99th percentile {now ? <a href={to(route, { page: "iterations", rest: {}, choice: { of: now.block.id, shortest: data.p99 } })} title="The spans of at least this duration">{time(data.p99)}</a> : time(data.p99)}, longest {time(data.max)}</span>
      </div>
      <p class="answer" data-what="answer">{data.answer}</p>
      {search && <p class="note">{count(parts.length + factors.length)} of {count(data.parts.length + data.factors.length)} rows match the search</p>}
      {parts.length > 0 && (
        <table class="blocks stacked" tabIndex={0}>
          <caption>Parts of the variance. Durations are of one call, calls are per span; “extra” is the whole difference of a slow span.</caption>
          <thead><tr><th scope="col" class="figure">share of variance</th><th scope="col" class="figure">mean</th><th scope="col" class="figure">typical spans</th><th scope="col" class="figure">slow spans</th><th scope="col" class="figure">extra per slow span</th><th scope="col">part</th></tr></thead>
          <tbody>
            {parts.map((row: any) => (
              <tr>
                <td class="cost" data-what="share" data-value={row.share}>
                  <span class="bar" style={{ width: (100 * Math.max(0, Math.min(1, row.share || 0))).toFixed(2) + "%" }} aria-hidden="true" />
                  <span class="value">{row.share === null ? "–" : percent(row.share)}</span>
                </td>
                <td class="figure">{partValue(row, row.mean)}</td>
                <td class="figure">{data.slow ? partValue(row, row.typical) : "–"}</td>
                <td class="figure">{data.slow ? partValue(row, row.slow) : "–"}</td>
                <td class="figure">{data.slow && row.extra !== null ? (row.extra < 0 ? "−" : "+") + time(Math.abs(row.extra)) : "–"}</td>
                <th scope="row">{partText(row)}</th>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Functions data={data.functions} has={has} />
      {factors.length > 0 && (
        <table class="blocks stacked" tabIndex={0}>
          <caption>Correlated with the duration</caption>
          <thead><tr><th scope="col" class="figure">explains</th><th scope="col">attribute</th><th scope="col">slowest</th><th scope="col">fastest</th><th scope="col">verdict</th></tr></thead>
          <tbody>
            {factors.map((row: any) => (
              <tr class={row.verdict === "explains" ? "" : "chance"}>
                <td class="cost" data-value={row.explained}>
                  <span class="bar" style={{ width: (row.verdict === "explains" ? 100 * row.explained : 0).toFixed(2) + "%" }} aria-hidden="true" />
                  <span class="value">{row.verdict === "explains" ? percent(row.explained) : "–"}</span>
                </td>
                <th scope="row"><span class="name">{factorText(row)}</span></th>
                <td>{row.slope !== null && row.verdict === "explains" ? time(row.slope) + " per unit" : groupText(row.slowest)}</td>
                <td>{groupText(row.fastest)}</td>
                <td class="dim">{({ explains: "", chance: "within chance", constant: "constant", few: "too few spans" } as Record<string, string>)[row.verdict]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

// ---- what-if

const STEPS = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4, 5, 8, 10, 20, 50, 100];
const THREADS_MAX = 4096, SLIDERS = 24;

function changesOf(text: string): Map<number, number> {
  return new Map((text || "").split(",").filter(Boolean).map((one) => one.split(":").map(Number) as [number, number]));
}

const rate = (value: number): string => (value >= 100 ? count(Math.round(value)) : Number((value || 0).toPrecision(3))) + " /s";

const spelled = (changes: Map<number, number>): string =>
  [...changes].filter(([, value]) => value !== 1 && value > 0).map(([id, value]) => id + ":" + value).join(",");

const times = (value: number): string => (value >= 100 ? count(value) : String(Number(value.toPrecision(3))));

// Returns the nearest step, by ratio.
function stepOf(value: number): number {
  const far = (step: number): number => Math.abs(Math.log(STEPS[step] / value));
  return STEPS.reduce((best, _, step) => (far(step) < far(best) ? step : best), 0);
}

// A value between two steps is shown unchanged; moving the slider sets it to a step. The slider
// takes its value from the address alone: a copy, updated later, would undo a key pressed
// meanwhile.
function Slider({ block, value, set }: { block: Block; value: number; set: (value: number) => void }) {
  const shown = value > 0 && Number.isFinite(value) ? value : 1;
  const text = shown === 1 ? "unchanged" : times(shown) + " × faster";
  return (
    <label class="slider">
      <span class="name"><Named block={block} /></span>
      <input type="range" min="0" max={String(STEPS.length - 1)} step="1" value={String(stepOf(shown))} data-block={block.id}
        aria-valuetext={text}
        onInput={(event) => set(STEPS[Number((event.target as HTMLInputElement).value)])} />
      <output>{text}</output>
    </label>
  );
}

// A field for a whole number or nothing; invalid text is reset to the previous value.
function Threads({ value, placeholder, set, pool }: { value: string; placeholder: string; set: (value: string) => void; pool?: number }) {
  const changed = (event: Event) => {
    const field = event.target as HTMLInputElement, number = Number(field.value);
    if (field.validity.badInput || (field.value && !(number > 0))) field.value = value;
    else set(field.value && String(Math.min(THREADS_MAX, Math.max(1, Math.round(number)))));
  };
  return <input type="number" min="1" max={String(THREADS_MAX)} step="1" placeholder={placeholder} value={value} data-pool={pool} onChange={changed} />;
}

function Latency({ was, again, now }: { was: any; again: any; now: any }) {
  const row = (what: string, name: string) => {
    const text = (all: any) => (!all ? "" : name === "throughput" ? rate(all.throughput) : time(all[name]));
    return (
      <tr><th scope="row">{what}</th><td class="figure">{text(was)}</td><td class="figure">{text(again)}</td><td class="figure">{text(now)}</td>
        <td class="figure" data-what={"change-" + name}>{again ? change(again[name], now[name]) : ""}</td></tr>
    );
  };
  return (
    <table class="stacked">
      <thead><tr><td /><th scope="col" class="figure">recorded</th><th scope="col" class="figure">unscaled replay</th><th scope="col" class="figure">predicted</th><th scope="col" class="figure">change</th></tr></thead>
      <tbody>{row("throughput", "throughput")}{row("median", "median")}{row("90th percentile", "p90")}{row("99th percentile", "p99")}{row("longest", "max")}</tbody>
    </table>
  );
}

// Shows the drift of the replay, and warnings about it.
function Trust({ data }: { data: any }) {
  return (
    <>
      {!data.trusted && data.reasons.map((text: string) => <p class="warning">{text}</p>)}
      <p class="note">The recorded spans are simulated with changed self times. The unscaled replay, without changes, takes {time(data.replayed)}, {share(Math.abs(data.replayed - data.recorded), data.recorded)} from the recorded time; changes are relative to it.</p>
      {data.shared && data.cores > 0 && <p class="note" data-what="shared">At times more threads ran than there are processors; the replay shares the processors evenly.</p>}
    </>
  );
}

export function WhatIfPage({ place, search }: { place: Place; search: string }) {
  const { route } = place, { spanned } = useSpanned(place);
  const changes = changesOf(route.rest.speed), threads = changesOf(route.rest.threads);
  const base: Items = [["file", String(route.file)]];
  const items: Items = [...base, ...[...changes].map(([id, value]) => ["speed", id + ":" + value] as [string, string])];
  for (const [id, value] of threads) items.push(["threads", id + ":" + value]);
  if (route.rest.cores) items.push(["cores", route.rest.cores]);
  const answer = useAnswer<any>("whatif", items, place.file.generation), { error, waiting } = answer;
  const again = useAnswer<any>("whatif", base, place.file.generation); // without changes
  const few = (place.file.spans || 0) <= 2000000;
  const table = useAnswer<any>(few || route.rest.table === "1" ? "whatif" : null, [...items, ["table", "1"]], place.file.generation);
  // On an error the fields stay, so that the question can be changed.
  const data = answer.data || (error ? again.data : null);
  if (!data) return error ? <Problem text={error} /> : <Waiting what="Simulating the recording" />;
  const set = (rest: Record<string, string>) => to(route, { rest: { ...route.rest, ...rest } });
  const write = (id: number, value: number) => {
    const next = new Map(changes);
    next.set(id, value);
    replace(set({ speed: spelled(next) }));
  };
  const changed = spelled(changes) || route.rest.threads || route.rest.cores;
  const writeThreads = (id: number, value: string) => {
    const next = new Map(threads);
    if (value) next.set(id, Number(value));
    else next.delete(id);
    go(set({ threads: [...next].map(([block, number]) => block + ":" + number).join(",") }));
  };
  const found = spanned.filter((one) => !search || matches(one.block, search) || changes.has(one.block.id));
  const sliders = found.filter((one, i) => i < SLIDERS || changes.has(one.block.id));
  return (
    <>
      {error && <Problem text={error} />}
      <p class="totals">
        <span>recorded <b data-what="recorded" data-value={data.recorded}>{time(data.recorded)}</b></span>
        <span>unscaled replay <b data-what="replayed" data-value={data.replayed}>{time(data.replayed)}</b></span>
        <span aria-hidden="true">→</span>
        <span role="status">predicted <b data-what="predicted" data-value={data.predicted}>{error ? "–" : time(data.predicted)}</b></span>
        {changed && !error && <span data-what="change" class={data.predicted > data.replayed ? "more" : "less"}>{change(data.replayed, data.predicted)}</span>}
        {waiting && <span class="note">simulating…</span>}
        {changed && <a class="button" href={set({ speed: "", cores: "", threads: "" })}>reset</a>}
      </p>
      {route.choice && <p class="note" data-what="whole">The replay includes all spans, not only the chosen iterations, because these wait for others.</p>}
      <Trust data={data} />
      <div class="whatif">
        <section aria-label="Speed of each span name">
          <h2>Change the speed of</h2>
          {sliders.map((one) => (
            <Slider key={one.block.id} block={one.block} value={changes.get(one.block.id) ?? 1} set={(value) => write(one.block.id, value)} />
          ))}
          {found.length > sliders.length && <p class="note" data-what="more-blocks">{count(found.length - sliders.length)} more names with less time have no slider; search for one to get it.</p>}
          {data.pools.map((pool: any) => (
            <label class="slider" key={"pool" + pool.blocks[0].id}><span>threads for <span class="name">{pool.blocks.map((one: Block) => one.name).join(", ")}</span></span>
              <Threads value={String(threads.get(pool.blocks[0].id) || "")} placeholder={String(pool.threads)} pool={pool.blocks[0].id} set={(value) => writeThreads(pool.blocks[0].id, value)} />
              <output>{threads.has(pool.blocks[0].id) ? "" : "as recorded"}</output>
            </label>
          ))}
          <label class="slider"><span>cores</span>
            <Threads value={route.rest.cores || ""} placeholder={data.cores ? String(data.cores) : "as recorded"} set={(value) => go(set({ cores: value }))} />
            <output>{route.rest.cores ? "" : "as recorded"}</output>
          </label>
        </section>
        {!error && <section aria-label="Outcome">
          <h2>{data.latency_of ? "Spans of " + data.latency_of.name : "Root spans"}</h2>
          <Latency was={data.recorded_latency} again={again.data?.predicted_latency} now={data.predicted_latency} />
          <h2>Biggest wins</h2>
          {table.data ? <Effects data={table.data} set={set} changes={changes} search={search} /> : few ? <Waiting what="Simulating each one faster" />
            : <p><a class="button" href={set({ table: "1" })}>compute for each span name</a></p>}
        </section>}
      </div>
    </>
  );
}

function Effects({ data, set, changes, search }: { data: any; set: (rest: Record<string, string>) => string; changes: Map<number, number>; search: string }) {
  const rows: any[] = (data.effects || []).filter((row: any) => !search || matches(row.block, search));
  // Changes up to the drift of the unscaled replay from the recording can be errors of the model.
  const error = data.recorded ? Math.abs(data.replayed - data.recorded) / data.recorded : 0;
  const unsure = (length: number) => Math.abs(length / data.predicted - 1) <= error;
  const falls = (row: any) => row.effects.every((cell: any, i: number) => cell.length <= (i ? row.effects[i - 1].length : data.predicted));
  if (!rows.length) return <p class="note">{search ? "No span name matches the search." : "No span has self time."}</p>;
  return (
    <>
    <p class="note" data-what="error" data-value={error}>± {share(error, 1)}: the unscaled replay is that far from the recording. Smaller changes are grey: they can be errors of the model.{rows.every(falls) ? "" : " ↕: not every speed-up shortens the run, because the order in which threads run changes with it."}</p>
    <table class="stacked" data-what="effects">
      <thead><tr><th scope="col">self time reduced by</th>{rows[0].effects.map((cell: any) => <th scope="col" class="figure">{Math.round(100 * cell.less)} %</th>)}<td /></tr></thead>
      <tbody>{rows.map((row) => (
        <tr>
          <th scope="row"><a class="name" href={set({ speed: spelled(new Map([...changes, [row.block.id, 2]])) })} title="Make this twice as fast"><Named block={row.block} /></a></th>
          {row.effects.map((cell: any) => <td class={unsure(cell.length) ? "figure dim" : "figure"} data-value={cell.length} title={time(cell.length) + " ± " + time(error * cell.length)}>{change(data.predicted, cell.length)}</td>)}
          <td>{falls(row) ? "" : <span title="not every speed-up shortens the run">↕</span>}</td>
        </tr>
      ))}</tbody>
    </table>
    </>
  );
}
