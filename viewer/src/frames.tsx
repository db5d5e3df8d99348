// SPDX-License-Identifier: MIT
// End-to-end latency: each result is a bar, in the order in which they ended; those beyond the
// deadline stand out. A bar leads to its chain of spans on the timeline.
import { useState } from "preact/hooks";
import { Block, Items, fullName, isLive, useAnswer } from "./data";
import { count, moment, share, time, timeOf } from "./format";
import { Named, Place, Problem, Waiting } from "./parts";
import { go, to } from "./route";
import { Iteration, chosenItems, nameOf } from "./span";

interface Frame { count: number; missed: number; start: number; latency: number; age: number; iteration: Iteration; chain: number[]; }
interface Stage { id: number; block: Block; iteration: Iteration; time: number; }
interface Ranks { median: number; p90: number; p99: number; max: number; }
interface Latencies {
  from: string; to: string; count: number; unlinked: number; open: number; total: number; latency: Ranks; age: Ranks; jitter: number;
  deadline: number | null; missed: number; frames: Frame[];
  stages: { block: Block; count: number; total: number }[];
  slowest: { from: number; to: number; start: number; latency: number; age: number; stages: Stage[] }[];
}

const NARROW = 560, FEW = "300", MANY = "1000"; // pixels; most bars

export function FramesPage({ place }: { place: Place }) {
  const { route, file } = place, { input, result, deadline } = route.rest;
  const names = useAnswer<any>(isLive() ? "spans" : null, [["file", String(route.file)], ["view", "blocks"], ["top", "0"]], file.generation);
  const items: Items = [["file", String(route.file)], ...chosenItems(route), ["from", input || ""], ["to", result || ""], ["frames", innerWidth < NARROW ? FEW : MANY], ["top", "20"]];
  if (deadline) items.push(["deadline", deadline]);
  const whole = isLive() && input && result && input !== result;
  const { data, error } = useAnswer<Latencies>(whole ? "latency" : null, items, file.generation);
  if (!isLive()) return <p class="note">A page in one file has no latencies; cairn view and cairn latency have.</p>;
  if (names.error) return <Problem text={names.error} />;
  if (!names.data) return <Waiting what="Reading the spans" />;
  return (
    <>
      <Ends place={place} blocks={names.data.blocks.map((row: any) => ({ ...row.block, count: row.count }))} />
      {!whole ? <p class="note">Choose the spans of an input, such as a camera's image, and of the result that is made from it. The way back from each result, over hand-offs, leads to its newest input.</p>
        : error ? <Problem text={error} /> : !data ? <Waiting what="Following the hand-offs" />
          : data.count ? <Found place={place} data={data} /> : <p class="note" data-what="unlinked">No {data.from} leads to a {data.to}: hand work off inside of the input's span, or record cairn_span_follows.</p>}
    </>
  );
}

// The selected input, result and deadline.
function Ends({ place, blocks }: { place: Place; blocks: (Block & { count: number })[] }) {
  const { route } = place, { rest } = route;
  const set = (change: Record<string, string>) => go(to(route, { rest: { ...rest, ...change } }));
  const choose = (key: "input" | "result", text: string) => (
    <label class="group"><b>{text}</b>
      <select name={key} value={rest[key] || ""} onChange={(event) => set({ [key]: event.currentTarget.value })}>
        <option value="">choose…</option>
        {blocks.map((block) => <option value={String(block.id)}>{fullName(block)} ({count(block.count)})</option>)}
      </select>
    </label>
  );
  const submit = (event: Event) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem("deadline") as HTMLInputElement;
    const text = field.value.trim(), value = text ? timeOf(text, "ms") : 0;
    field.setCustomValidity(value === null ? "A time such as 16.7 ms" : "");
    if (value === null) field.reportValidity();
    else set({ deadline: value ? String(value) : "" });
  };
  return (
    <form class="tools" aria-label="Latency" onSubmit={submit}>
      {choose("input", "from")}{choose("result", "to")}
      <label class="group"><b>deadline</b> <input name="deadline" size={9} placeholder="16.7 ms" key={rest.deadline} defaultValue={rest.deadline ? Number(rest.deadline) / 1e6 + " ms" : ""}
        onInput={(event) => event.currentTarget.setCustomValidity("")} /></label>
      <button type="submit">set</button>
    </form>
  );
}

// The spans of a result, on the timeline, with some room at both sides.
function chainLink(place: Place, chain: number[], start: number, latency: number): string {
  const margin = Math.max(1, Math.round(latency / 10));
  return to(place.route, { page: "timeline", choice: null, rest: { span: String(chain[chain.length - 1]), chain: chain.join("."), from: String(Math.max(0, start - margin)), to: String(start + latency + margin) } });
}

function Found({ place, data }: { place: Place; data: Latencies }) {
  const figure = (what: string, value: number) => <span>{what} <b data-what={what} data-value={value}>{time(value)}</b></span>;
  return (
    <>
      <p class="totals">
        <span><b data-what="results" data-value={data.count}>{count(data.count)}</b> {data.count === 1 ? "result" : "results"}</span>
        {figure("median", data.latency.median)}{figure("p90", data.latency.p90)}{figure("p99", data.latency.p99)}{figure("longest", data.latency.max)}{figure("jitter", data.jitter)}
        {data.deadline !== null && <span class={data.missed ? "more" : ""}><b data-what="missed" data-value={data.missed}>{count(data.missed)}</b> missed {time(data.deadline)}, {share(data.missed, data.count)}</span>}
      </p>
      <FrameStrip place={place} data={data} key={data.frames.length} />
      {(data.unlinked > 0 || data.open > 0) && <p class="note">{data.unlinked > 0 && `${count(data.unlinked)} of ${data.to} left out: no ${data.from} leads there. `}{data.open > 0 && `${count(data.open)} had not ended.`}</p>}
      <Stages data={data} />
      <Slowest place={place} data={data} />
    </>
  );
}

// The definition of a frame, in words.
const textOf = (data: Latencies, frame: Frame): string =>
  (frame.iteration === null ? data.to : data.to + " #" + frame.iteration) + ": " + time(frame.latency) + (data.deadline !== null && frame.latency > data.deadline ? ", missed" : "") +
  ", age " + time(frame.age) + (frame.count > 1 ? `, the longest of ${count(frame.count)} here` + (frame.missed ? `, ${count(frame.missed)} missed` : "") : "");

function FrameStrip({ place, data }: { place: Place; data: Latencies }) {
  const { frames, deadline } = data, last = frames.length - 1, most = 1.05 * Math.max(1, data.latency.max, deadline ?? 0);
  const [at, setAt] = useState(-1), frame = frames[at];
  const open = (one: Frame) => go(chainLink(place, one.chain, one.start, one.latency));
  const under = (event: MouseEvent): number => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return Math.max(0, Math.min(last, Math.floor(((event.clientX - box.left) / box.width) * frames.length)));
  };
  const miss = (by: number) => {
    for (let i = at < 0 && by < 0 ? last : at + by; i >= 0 && i <= last; i += by) if (frames[i].missed) return setAt(i);
  };
  const key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowRight") setAt(Math.min(last, at + 1));
    else if (event.key === "ArrowLeft") setAt(at < 0 ? last : Math.max(0, at - 1));
    else if (event.key === "Home") setAt(0);
    else if (event.key === "End") setAt(last);
    else if (event.key === "n") miss(1);
    else if (event.key === "p") miss(-1);
    else if (event.key === "Escape") setAt(-1);
    else if (event.key === "Enter" && frame) open(frame);
    else return;
    event.preventDefault();
  };
  return (
    <section class="frames" aria-label={`Latency from ${data.from} to ${data.to}`}>
      <div class="plot" tabIndex={0} role="application" aria-roledescription="frame strip" onKeyDown={key}
        aria-label="Latencies in the order in which the results ended. Left and right select one, n and p go to the next and previous one that missed the deadline, Enter shows its spans on the timeline."
        onPointerMove={(event) => event.pointerType === "mouse" && setAt(under(event))} onClick={(event) => open(frames[under(event)])}>
        <svg viewBox={`0 0 ${frames.length} 1000`} preserveAspectRatio="none" aria-hidden="true">
          {frames.map((one, i) => {
            const height = Math.max(8, (1000 * one.latency) / most);
            return <rect data-frame={one.chain[one.chain.length - 1]} data-value={one.latency} x={i} y={1000 - height} width={frames.length > 250 ? 1 : 0.85} height={height}
              class={(deadline !== null && one.latency > deadline ? "missed" : "") + (i === at ? " here" : "")} />;
          })}
          {deadline !== null && <line class="deadline" x1={0} x2={frames.length} y1={1000 - (1000 * deadline) / most} y2={1000 - (1000 * deadline) / most} />}
        </svg>
        {deadline !== null && <span class="deadline" style={{ bottom: (100 * deadline) / most + "%" }}>deadline {time(deadline)}</span>}
      </div>
      <p class="note" aria-live="polite" data-what="frame" data-frame={frame ? frame.chain[frame.chain.length - 1] : undefined}>
        {frame ? <>{textOf(data, frame)}. <a href={chainLink(place, frame.chain, frame.start, frame.latency)}>its spans on the timeline</a></>
          : `${count(frames.length)} bars${frames.length < data.count ? `, each the longest of about ${count(Math.round(data.count / frames.length))} results` : ""}; a click shows the spans of one on the timeline.`}
      </p>
    </section>
  );
}

function Stages({ data }: { data: Latencies }) {
  return (
    <table class="blocks stacked">
      <caption>Stages, each from its begin to that of the next</caption>
      <thead><tr><th scope="col" class="figure">total</th><th scope="col" class="figure">mean</th><th scope="col" class="figure">count</th><th scope="col">span name</th></tr></thead>
      <tbody>
        {data.stages.map((row) => (
          <tr data-stage={row.block.id}>
            <td class="cost" data-what="total" data-value={row.total}><span class="bar" style={{ width: (data.total ? (100 * row.total) / data.total : 0).toFixed(2) + "%" }} aria-hidden="true" /><span class="value">{time(row.total)}</span><span class="share">{share(row.total, data.total)}</span></td>
            <td class="figure">{time(row.total / row.count)}</td><td class="figure" data-what="count" data-value={row.count}>{count(row.count)}</td>
            <th scope="row"><span class="name"><Named block={row.block} /></span></th>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Slowest({ place, data }: { place: Place; data: Latencies }) {
  const last = data.slowest.length ? data.slowest[0].latency : 1;
  return (
    <table class="blocks stacked slowest">
      <caption>The slowest, with the time of each stage</caption>
      <thead><tr><th scope="col" class="figure">latency</th><th scope="col" class="figure">age</th><th scope="col" class="figure">began</th><th scope="col">result</th><th scope="col">stages</th></tr></thead>
      <tbody>
        {data.slowest.map((row) => (
          <tr data-result={row.to} class={data.deadline !== null && row.latency > data.deadline ? "missed" : ""}>
            <td class="cost" data-what="latency" data-value={row.latency}><span class="bar" style={{ width: (last ? (100 * row.latency) / last : 0).toFixed(2) + "%" }} aria-hidden="true" /><span class="value">{time(row.latency)}</span></td>
            <td class="figure" data-what="age" data-value={row.age}>{time(row.age)}</td>
            <td class="figure">{moment(row.start, row.latency)}</td>
            <th scope="row"><a class="name" href={chainLink(place, row.stages.map((one) => one.id), row.start, row.latency)}>{nameOf(row.stages[row.stages.length - 1].block, row.stages[row.stages.length - 1].iteration)}</a></th>
            <td class="path dim">{row.stages.map((one) => <span>{nameOf(one.block, one.iteration)} {time(one.time)}</span>)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
