// SPDX-License-Identifier: MIT
// Durations by iteration. The iterations in the brush are shown by all pages on spans.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import * as color from "./color";
import { Items, fullName, useAnswer } from "./data";
import { count, time, timeOf } from "./format";
import { Histogram } from "./histogram";
import { Place, Problem, Waiting } from "./parts";
import { Choice, go, to, wholeText } from "./route";
import { SlowestPage } from "./spans_pages";

export function IterationsPage({ place, search }: { place: Place; search: string }) {
  const { route } = place;
  const of = route.choice ? String(route.choice.of) : route.rest.block || "";
  const items: Items = [["file", String(route.file)], ["points", "12000"]];
  if (of) items.push(["of", of]);
  const { data, error } = useAnswer("iterations", items, place.file.generation);
  // figures of all the block's spans, chosen or not, from the table that the server has already
  const all = useAnswer<any>("spans", [["file", String(route.file)], ["view", "blocks"], ["top", "0"]], place.file.generation);
  const row = all.data?.blocks.find((one: any) => one.block.id === data?.block.id) || null;
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Reading the iterations" />;
  return (
    <>
      <div class="tools" role="toolbar" aria-label="Iterations">
        <label class="group"><b>of</b>
          <select value={String(data.block.id)}
            onChange={(event) => go(to(route, { choice: null, rest: { ...route.rest, block: (event.target as HTMLSelectElement).value } }))}>
            {data.blocks.map((one: any) => <option value={String(one.block.id)}>{fullName(one.block)} ({count(one.count)})</option>)}
          </select>
        </label>
        <span class="group">
          <a href={to(route, { rest: { ...route.rest, scale: "" } })} aria-current={route.rest.scale !== "linear"}>logarithmic</a>
          <a href={to(route, { rest: { ...route.rest, scale: "linear" } })} aria-current={route.rest.scale === "linear"}>linear</a>
        </span>
        <span class="note">{count(data.spans)} {data.spans === 1 ? "span" : "spans"}{data.points.length < data.spans ? ", shown as " + count(data.points.length) + " points" : ""}{data.numbered ? "" : "; without iteration numbers, ordered by start"}</span>
      </div>
      <Scatter data={data} row={row} place={place} />
      {row && row.count > 1 && <Histogram place={place} row={row} edges={all.data.edges} />}
      <Range data={data} row={row} place={place} />
      <h2>{"The slowest spans of " + data.block.name + (route.choice ? " in the selection" : "")}</h2>
      <SlowestPage place={place} search={search} block={of ? Number(of) : data.block.id} />
    </>
  );
}

// Iteration number (may be text), duration, span, number of spans it stands for.
type Point = [number | string, number, number, number];

// On the axis, numbers beyond 2^53 may be rounded.
const along = (point: Point): number => Number(point[0]);

function sorted(points: Point[]): [number[], number[], number[]] {
  const all = points.map(([at, ...rest]) => [Number(at), ...rest]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return [all.map((p) => p[0]), all.map((p) => p[1]), all.map((p) => p[3])];
}

function Scatter({ data, row, place }: { data: any; row: any; place: Place }) {
  const frame = useRef<HTMLDivElement>(null);
  const { route } = place, { choice } = route;
  const linear = route.rest.scale === "linear";
  const [near, setNear] = useState<Point | null>(null);
  useEffect(() => {
    const element = frame.current!;
    if (!data.points.length) return;
    let plot: uPlot | null = null;
    const draw = () => {
      plot?.destroy();
      plot = chart(element, data, row, choice, linear, {
        choose: (next) => go(to(route, { choice: next })),
        open: (span) => go(to(route, { page: "timeline", rest: { span: String(span) } })),
        point: setNear,
      });
    };
    draw();
    const off = color.onTheme(draw);
    const resized = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: 330 }));
    resized.observe(element);
    return () => { off(); resized.disconnect(); plot?.destroy(); };
  }, [data, row, linear, JSON.stringify(choice), place.route.file]);
  return (
    <>
      <div class="scatter" ref={frame} role="img" aria-label={"Duration by iteration of " + data.block.name + ", " + count(data.spans) + " spans. Drag to select iterations, or use the fields below."} />
      <p class="note near" data-span={near ? near[2] : undefined} data-value={near ? near[1] : undefined}>
        {near ? `${data.block.name} #${near[0]} total ${time(near[1])}${near[3] > 1 ? ", the longest of " + count(near[3]) + " here" : ""}. Click to show it on the timeline.` : "Drag to select iterations, click one to show it on the timeline."}
      </p>
    </>
  );
}

// Writes large numbers without an exponent.
const spelled = (number: number): string => BigInt(Math.round(number)).toString();

interface Acts { choose: (next: Choice | null) => void; open: (span: number) => void; point: (near: Point | null) => void; }

// Returns the nearest point within reach, in the plot's pixels.
function nearest(self: uPlot, points: Point[], left: number, top: number): Point | null {
  let found: Point | null = null, least = 12;
  for (const point of points) {
    const far = Math.hypot(self.valToPos(along(point), "x") - left, self.valToPos(point[1], "y") - top);
    if (far < least) {
      least = far;
      found = point;
    }
  }
  return found;
}

const LABELS = 4; // least number of labels on the axis

// Returns 1, 2, 5, 10, … between both ends; if these are too few, linear steps.
function splitsOf(low: number, high: number): number[] {
  const all: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(Math.max(1, low))); power <= high; power *= 10)
    for (const step of [1, 2, 5]) if (power * step >= low && power * step <= high) all.push(power * step);
  if (all.length >= LABELS) return all.length > 12 ? all.filter((v) => /^1/.test(String(v))) : all;
  const even = evenly(low, high);
  return even.length > all.length ? even : all;
}

function evenly(low: number, high: number): number[] {
  const rough = (high - low) / (LABELS + 1), power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough) || 10), all: number[] = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) all.push(at);
  return all;
}

function inside(choice: Choice | null, x: number, y: number): boolean {
  return !choice || (x >= Number(choice.first ?? -Infinity) && x <= Number(choice.last ?? Infinity) &&
    y >= (choice.shortest ?? 0) && y <= (choice.longest ?? Infinity));
}

// Draws lines at the median and the 99th percentile.
function paintLines(self: uPlot, row: any): void {
  const { ctx, bbox } = self;
  ctx.save();
  ctx.font = 11.5 * devicePixelRatio + "px system-ui, sans-serif";
  ctx.lineJoin = "round";
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  // Texts are above their lines, unless they would overlap.
  let taken = Infinity;
  for (const [name, value] of [["median", row.median], ["p99", row.p99]] as [string, number][]) {
    const y = Math.round(self.valToPos(value, "y", true)) + 0.5, line = 15 * devicePixelRatio;
    if (y < bbox.top || y > bbox.top + bbox.height) continue;
    ctx.fillStyle = ctx.strokeStyle = color.ink("--warm");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    const text = name + " " + time(value), right = bbox.left + bbox.width - 4 * devicePixelRatio;
    const at = Math.min(Math.max(bbox.top + line / 2, y - 9 * devicePixelRatio), taken - line);
    taken = at;
    ctx.setLineDash([]);
    ctx.strokeStyle = color.ink("--raised");
    ctx.lineWidth = 4 * devicePixelRatio;
    ctx.strokeText(text, right, at);
    ctx.fillText(text, right, at);
  }
  ctx.restore();
}

function chart(element: HTMLElement, data: any, row: any, choice: Choice | null, linear: boolean, { choose, open, point }: Acts): uPlot {
  const [xs, ys, counts] = sorted(data.points);
  const axis = { stroke: color.ink("--dim"), grid: { stroke: color.ink("--line"), width: 1 }, ticks: { stroke: color.ink("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
  const inChoice = color.ink("--accent"), out = color.ink("--faint-point");
  const points: uPlot.Series.Points.Show = (self, series) => {
    const { ctx } = self, size = (xs.length < 2000 ? 3.4 : 2.4) * devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(self.bbox.left, self.bbox.top, self.bbox.width, self.bbox.height);
    ctx.clip();
    for (let i = 0; i < xs.length; i++) {
      const x = self.valToPos(xs[i], "x", true), y = self.valToPos(ys[i], "y", true);
      ctx.fillStyle = inside(choice, xs[i], ys[i]) ? inChoice : out;
      ctx.globalAlpha = Math.min(1, 0.65 + Math.log10(counts[i]) * 0.2);
      const r = size * (1 + Math.min(1.2, Math.log10(counts[i]) * 0.5));
      ctx.beginPath();
      ctx.arc(x, y, r, 0, 7);
      ctx.fill();
    }
    ctx.restore();
    void series;
    return false;
  };
  const options: uPlot.Options = {
    width: element.clientWidth, height: 330, legend: { show: false },
    cursor: { drag: { x: true, y: true, setScale: false, uni: 12 }, points: { show: false } },
    scales: {
      x: { time: false, range: () => { const low = xs[0], high = xs[xs.length - 1], margin = Math.max(0.5, (high - low) * 0.02); return [low - margin, high + margin]; } },
      y: linear ? { range: (_, __, high) => [0, high * 1.06] } : { distr: 3, range: (_, low, high) => [Math.max(1, low * 0.8), high * 1.25] },
    },
    axes: [
      { ...axis, label: data.numbered ? "iteration" : "order of begin", labelFont: axis.font, labelSize: 18, size: 34, space: 24 + 7 * Math.max(...[xs[0], xs[xs.length - 1]].map((x) => count(x || 0).length)), incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, ...[7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18].flatMap((power) => [1, 2, 5].map((one) => one * 10 ** power))], values: (_, all) => all.map((v) => count(v)) },
      { ...axis, size: 76, values: (_, all) => all.map((v) => (v === null || v === undefined ? "" : time(v))), ...(linear ? {} : { splits: (_: uPlot, __: number, low: number, high: number) => splitsOf(low, high), filter: (_: uPlot, all: number[]) => all }) },
    ],
    series: [{}, { stroke: "transparent", paths: () => null, points: { show: points } }],
    hooks: {
      setCursor: [(self) => point(nearest(self, data.points, self.cursor.left ?? -99, self.cursor.top ?? -99))],
      ready: [(self) => self.over.addEventListener("click", (event) => {
        const box = self.over.getBoundingClientRect(), its = nearest(self, data.points, event.clientX - box.left, event.clientY - box.top);
        if (its && self.select.width < 3 && self.select.height < 3) open(its[2]);
      })],
      draw: row && row.count > 1 ? [(self) => paintLines(self, row)] : [],
      setSelect: [(self) => {
        const { left, top, width, height } = self.select;
        if (width < 3 && height < 3) return;
        const all = height >= self.over.clientHeight - 2, wide = width >= self.over.clientWidth - 2;
        choose({
          of: data.block.id,
          first: wide ? undefined : spelled(Math.ceil(self.posToVal(left, "x"))),
          last: wide ? undefined : spelled(Math.floor(self.posToVal(left + width, "x"))),
          shortest: all ? undefined : Math.max(0, Math.floor(self.posToVal(top + height, "y"))),
          longest: all ? undefined : Math.ceil(self.posToVal(top, "y")),
        });
      }],
    },
  };
  return new uPlot(options, [xs, ys] as uPlot.AlignedData, element);
}

// Input fields that do the same as the brush.
function Range({ data, row, place }: { data: any; row: any; place: Place }) {
  const { route } = place, choice = route.choice;
  const from = (shortest: number) => to(route, { choice: { of: data.block.id, first: choice?.first, last: choice?.last, shortest } });
  // Invalid input stays in the field and is marked.
  const submit = (event: Event) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    let wrong: HTMLInputElement | null = null;
    const read = <T,>(name: string, of: (text: string) => T | null | undefined, what: string): T | undefined => {
      const field = form.elements.namedItem(name) as HTMLInputElement, text = field.value.trim(), value = of(text);
      const bad = text !== "" && (value === null || value === undefined);
      field.setCustomValidity(bad ? what : "");
      if (bad) wrong ||= field;
      return text === "" ? undefined : value ?? undefined;
    };
    const number = (name: string) => read(name, (text) => wholeText(text.replace(/,/g, "")), "A whole number");
    const took = (name: string) => read(name, (text) => timeOf(text, "µs"), "A time such as 250, 10 ms or 1.5 s");
    const next = { of: data.block.id, first: number("first"), last: number("last"), shortest: took("shortest"), longest: took("longest") };
    if (wrong) (wrong as HTMLInputElement).reportValidity();
    else go(to(route, { choice: next }));
  };
  const field = (name: keyof Choice, text: string, shown: string) => (
    <label>{text} <input name={name} inputMode={name === "first" || name === "last" ? "numeric" : "text"} size={9} key={shown} defaultValue={shown}
      onInput={(event) => (event.target as HTMLInputElement).setCustomValidity("")} /></label>
  );
  const micro = (ns: number | undefined) => (ns === undefined ? "" : String(ns / 1e3));
  return (
    <form class="range" onSubmit={submit}>
      {field("first", "iteration from", choice?.first ?? "")}{field("last", "to", choice?.last ?? "")}
      {field("shortest", "duration from", micro(choice?.shortest))}{field("longest", "to", micro(choice?.longest))}<span>µs</span>
      <button type="submit">select</button>
      {row && row.count > 1 && (
        <>
          <a class="button" href={from(row.p99)} data-what="p99" data-value={row.p99} title={"total " + time(row.p99) + " or longer"}>the slowest 1 %</a>
          <a class="button" href={from(row.median)} data-what="median" data-value={row.median} title={"total " + time(row.median) + " or longer"}>the slower half</a>
          <a class="button" href={to(route, { page: "explain", choice: null, rest: { block: String(data.block.id) } })}>explain</a>
        </>
      )}
      {choice && <a class="button" href={to(route, { choice: null, rest: { ...route.rest, block: String(choice.of) } })}>select all</a>}
    </form>
  );
}
