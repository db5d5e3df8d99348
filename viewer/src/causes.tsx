// SPDX-License-Identifier: MIT
// Why spans of a block do not all take as long; and what if a part were faster.
import { useEffect, useState } from "preact/hooks";
import { Block, Items, fullName, useAnswer } from "./data";
import { change, count, share, time } from "./format";
import { Named, Place, Problem, Waiting } from "./parts";
import { go, replace, to } from "./route";
import { chosenItems } from "./span";

const percent = (part: number): string => (100 * part).toFixed(1).replace(/^-0\.0$/, "0.0") + " %";

function useSpanned(place: Place): { block: Block; count: number }[] {
  const { data } = useAnswer<any>("iterations", [["file", String(place.route.file)], ["points", "1"]], place.file.generation);
  return data ? data.blocks : [];
}

// ---- why

function partText(row: any): string {
  switch (row.part) {
    case "self": return "its own time";
    case "number": return "how often it calls " + row.block.name;
    case "duration": return "how long " + row.block.name + " takes";
    default: return "how much of " + row.block.name + " runs beside others";
  }
}

function partValue(row: any, value: number | null): string {
  if (value === null) return "–";
  if (row.part === "number") return value.toFixed(2) + " ×";
  return row.part === "overlap" ? percent(value) : time(value);
}

const factorText = (row: any): string => ({
  attribute: row.name, parent_attribute: "the parent's " + row.name, iteration: "the iteration's number",
  parent_iteration: "the parent's iteration", parent: "who called", lane: "which lane",
} as Record<string, string>)[row.of] || row.of;

function groupText(group: any): string {
  if (!group) return "";
  const value = group.value === undefined ? count(group.from) + " to " + count(group.to)
    : group.value && group.value.name ? group.value.name : group.value === null ? "nobody" : String(group.value);
  return value + ": " + time(group.mean) + " (" + count(group.count) + ")";
}

export function ExplainPage({ place }: { place: Place }) {
  const { route } = place, spanned = useSpanned(place);
  const items: Items = [["file", String(route.file)], ...chosenItems(route)];
  const wanted = route.rest.block || (route.choice ? String(route.choice.of) : "");
  if (wanted) items.push(["block", wanted]);
  const { data, error } = useAnswer<any>("explain", items, place.file.generation);
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Looking for causes" />;
  const now = spanned.find((one) => one.block.name === data.block);
  return (
    <>
      <div class="tools" role="toolbar" aria-label="Explain">
        <label class="group"><b>spans of</b>
          <select value={now ? String(now.block.id) : ""} onChange={(event) => go(to(route, { rest: { block: (event.target as HTMLSelectElement).value } }))}>
            {spanned.map((one) => <option value={String(one.block.id)}>{fullName(one.block)} ({count(one.count)})</option>)}
          </select>
        </label>
        <span class="note">{count(data.count)} spans, {time(data.mean)} on average ± {time(data.deviation)}; median {time(data.median)}, 99th percentile {now ? <a href={to(route, { page: "iterations", rest: {}, choice: { of: now.block.id, shortest: data.p99 } })} title="Those that took as long or longer">{time(data.p99)}</a> : time(data.p99)}, longest {time(data.max)}</span>
      </div>
      <p class="answer" data-what="answer">{data.answer}</p>
      {data.parts.length > 0 && (
        <table class="blocks">
          <caption>What the differences consist of</caption>
          <thead><tr><th scope="col" class="figure">of the variance</th><th scope="col" class="figure">mean</th><th scope="col" class="figure">in typical spans</th><th scope="col" class="figure">in slow ones</th><th scope="col" class="figure">extra in slow ones</th><th scope="col">what</th></tr></thead>
          <tbody>
            {data.parts.map((row: any) => (
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
      {data.factors.length > 0 && (
        <table class="blocks">
          <caption>What goes with it</caption>
          <thead><tr><th scope="col" class="figure">explains</th><th scope="col">what</th><th scope="col">slowest</th><th scope="col">fastest</th><th scope="col">verdict</th></tr></thead>
          <tbody>
            {data.factors.map((row: any) => (
              <tr class={row.verdict === "explains" ? "" : "chance"}>
                <td class="cost" data-value={row.explained}>
                  <span class="bar" style={{ width: (row.verdict === "explains" ? 100 * row.explained : 0).toFixed(2) + "%" }} aria-hidden="true" />
                  <span class="value">{row.verdict === "explains" ? percent(row.explained) : "–"}</span>
                </td>
                <th scope="row"><span class="name">{factorText(row)}</span></th>
                <td>{row.slope !== null && row.verdict === "explains" ? time(row.slope) + " for each 1 more" : groupText(row.slowest)}</td>
                <td>{groupText(row.fastest)}</td>
                <td class="dim">{({ explains: "", chance: "no more than chance", constant: "always the same", few: "too few spans" } as Record<string, string>)[row.verdict]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

// ---- what if

const STEPS = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4, 5, 8, 10, 20, 50, 100];

function changesOf(text: string): Map<number, number> {
  return new Map((text || "").split(",").filter(Boolean).map((one) => one.split(":").map(Number) as [number, number]));
}

const rate = (value: number): string => (value >= 100 ? count(Math.round(value)) : Number((value || 0).toPrecision(3))) + " /s";

const spelled = (changes: Map<number, number>): string =>
  [...changes].filter(([, value]) => value !== 1 && value > 0).map(([id, value]) => id + ":" + value).join(",");

function Slider({ block, value, set }: { block: Block; value: number; set: (value: number) => void }) {
  const at = Math.max(0, STEPS.findIndex((step) => step >= value));
  const [shown, setShown] = useState(at);
  useEffect(() => setShown(at), [at]);
  return (
    <label class="slider">
      <span class="name"><Named block={block} /></span>
      <input type="range" min="0" max={String(STEPS.length - 1)} step="1" value={String(shown)} data-block={block.id}
        aria-valuetext={STEPS[shown] + " times as fast"}
        onInput={(event) => { const step = Number((event.target as HTMLInputElement).value); setShown(step); set(STEPS[step]); }} />
      <output>{STEPS[shown] === 1 ? "as it is" : STEPS[shown] + " × as fast"}</output>
    </label>
  );
}

export function WhatIfPage({ place }: { place: Place }) {
  const { route } = place, spanned = useSpanned(place);
  const changes = changesOf(route.rest.speed);
  const base: Items = [["file", String(route.file)]];
  const items: Items = [...base, ...[...changes].map(([id, value]) => ["speed", id + ":" + value] as [string, string])];
  const threads = changesOf(route.rest.threads);
  for (const [id, value] of threads) items.push(["threads", id + ":" + value]);
  if (route.rest.cores) items.push(["cores", route.rest.cores]);
  const { data, error, waiting } = useAnswer<any>("whatif", items, place.file.generation);
  const few = (place.file.spans || 0) <= 2000000;
  const table = useAnswer<any>(few || route.rest.table === "1" ? "whatif" : null, [...items, ["table", "1"]], place.file.generation);
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Running it again" />;
  const set = (rest: Record<string, string>) => to(route, { rest: { ...route.rest, ...rest } });
  const write = (id: number, value: number) => {
    const next = new Map(changes);
    next.set(id, value);
    replace(set({ speed: spelled(next) }));
  };
  const changed = spelled(changes) || route.rest.threads || route.rest.cores;
  const writeThreads = (id: number, value: string) => {
    const next = new Map(threads);
    if (Number(value) > 0) next.set(id, Math.round(Number(value)));
    else next.delete(id);
    go(set({ threads: [...next].map(([block, number]) => block + ":" + number).join(",") }));
  };
  const latency = (what: string, name: string) => (
    <tr><th scope="row">{what}</th><td class="figure">{name === "throughput" ? rate(data.recorded_latency.throughput) : time(data.recorded_latency[name])}</td>
      <td class="figure">{name === "throughput" ? rate(data.predicted_latency.throughput) : time(data.predicted_latency[name])}</td>
      <td class="figure">{change(data.recorded_latency[name], data.predicted_latency[name])}</td></tr>
  );
  return (
    <>
      <p class="totals">
        <span>recorded <b data-what="recorded" data-value={data.recorded}>{time(data.recorded)}</b></span>
        {changed && <span>run again as it was <b data-what="replayed" data-value={data.replayed}>{time(data.replayed)}</b></span>}
        <span aria-hidden="true">→</span>
        <span role="status">predicted <b data-what="predicted" data-value={data.predicted}>{time(data.predicted)}</b></span>
        <span class={data.predicted > data.recorded ? "more" : "less"}>{change(data.recorded, data.predicted)}</span>
        {waiting && <span class="note">running it again…</span>}
        {changed && <a class="button" href={set({ speed: "", cores: "", threads: "" })}>as it was</a>}
      </p>
      {route.choice && <p class="note" data-what="whole">All spans are run again, not the chosen iterations alone: what they wait for is part of it.</p>}
      {!data.trusted && data.reasons.map((text: string) => <p class="warning">{text}</p>)}
      <p class="note">The recorded spans are run again with their own time changed; unchanged, that gives {time(data.replayed)}, {share(Math.abs(data.replayed - data.recorded), data.recorded)} from what was recorded.</p>
      <div class="whatif">
        <section aria-label="How fast each block is">
          <h2>What if a block were faster</h2>
          {spanned.slice(0, 24).map((one) => (
            <Slider key={one.block.id} block={one.block} value={changes.get(one.block.id) || 1} set={(value) => write(one.block.id, value)} />
          ))}
          {data.pools.map((pool: any) => (
            <label class="slider" key={"pool" + pool.blocks[0].id}><span>threads for <span class="name">{pool.blocks.map((one: Block) => one.name).join(", ")}</span></span>
              <input type="number" min="1" max="4096" placeholder={String(pool.threads)} value={threads.get(pool.blocks[0].id) || ""} data-pool={pool.blocks[0].id}
                onChange={(event) => writeThreads(pool.blocks[0].id, (event.target as HTMLInputElement).value)} />
              <output>{threads.has(pool.blocks[0].id) ? "" : "as recorded"}</output>
            </label>
          ))}
          <label class="slider"><span>cores</span>
            <input type="number" min="1" max="4096" placeholder={data.cores ? String(data.cores) : "as recorded"} value={route.rest.cores || ""}
              onChange={(event) => go(set({ cores: (event.target as HTMLInputElement).value }))} />
            <output>{route.rest.cores ? "" : "as recorded"}</output>
          </label>
        </section>
        <section aria-label="Outcome">
          <h2>{data.latency_of ? "Spans of " + data.latency_of.name : "Spans that nothing else contains"}</h2>
          <table>
            <thead><tr><td /><th scope="col" class="figure">recorded</th><th scope="col" class="figure">predicted</th><th scope="col" class="figure">change</th></tr></thead>
            <tbody>{latency("throughput", "throughput")}{latency("median", "median")}{latency("90th percentile", "p90")}{latency("99th percentile", "p99")}{latency("longest", "max")}</tbody>
          </table>
          <h2>What would bring most</h2>
          {table.data ? <Effects data={table.data} set={set} changes={changes} /> : few ? <Waiting what="Trying each block" />
            : <p><a class="button" href={set({ table: "1" })}>try each block</a></p>}
        </section>
      </div>
    </>
  );
}

function Effects({ data, set, changes }: { data: any; set: (rest: Record<string, string>) => string; changes: Map<number, number> }) {
  const rows: any[] = data.effects || [];
  if (!rows.length) return <p class="note">No block has time of its own.</p>;
  return (
    <table data-what="effects">
      <thead><tr><th scope="col">its own time less by</th>{rows[0].effects.map((cell: any) => <th scope="col" class="figure">{Math.round(100 * cell.less)} %</th>)}</tr></thead>
      <tbody>{rows.map((row) => (
        <tr>
          <th scope="row"><a class="name" href={set({ speed: spelled(new Map([...changes, [row.block.id, 2]])) })} title="Make it twice as fast"><Named block={row.block} /></a></th>
          {row.effects.map((cell: any) => <td class="figure" data-value={cell.length} title={time(cell.length)}>{change(data.predicted, cell.length)}</td>)}
        </tr>
      ))}</tbody>
    </table>
  );
}
