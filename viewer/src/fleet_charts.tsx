// SPDX-License-Identifier: MIT
// The charts of the fleet's page: cost by run, and durations of spans over time. Their points are
// selected by pointer or by arrow keys, and lead to runs.
import { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { count, figure, time } from "./format";

const HEIGHT = 190, LEFT = 80, RIGHT = 20, TOP = 26;

// Returns the width of the charts' coordinates, which are scaled to the page: narrow on a phone, so that
// texts stay legible.
function useWidth(): number {
  const fit = () => (innerWidth < 560 ? 400 : 900), [width, setWidth] = useState(fit);
  useEffect(() => {
    const change = () => setWidth(fit());
    addEventListener("resize", change);
    return () => removeEventListener("resize", change);
  }, []);
  return width;
}

export interface Run { started: string; version: string; host: string; run: string; self: number; total: number }
export interface Cell { time: string; at_least: number; spans: number; longest: number; run: string }

// ISO time to ms, and a short form of it.
export const moment = (text: string): number => Date.parse(text);
const short = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace("T", " ");

interface Point { x: number; y: number; run: string; value: number; text: string }

// Returns the index of the nearest point in a direction: along the axis first.
function nearest(points: Point[], from: number, across: number, up: number): number {
  let best = from, least = Infinity;
  points.forEach((one, i) => {
    const right = one.x - points[from].x, above = points[from].y - one.y;
    const along = across ? right * across : above * up, aside = Math.abs(across ? above : right);
    if (along <= 0.01) return;
    const far = across ? along * 1000 + aside : aside * 1000 + along;
    if (far < least) [best, least] = [i, far];
  });
  return best;
}

const DIRECTIONS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function Chart({ kind, label, width, height, points, draw, pick, children }: {
  kind: string; label: string; width: number; height: number; points: Point[];
  draw: (point: Point, i: number) => ComponentChildren; pick: (run: string) => void; children: ComponentChildren;
}) {
  const [at, setAt] = useState(-1), chosen = points[at];
  const key = (event: KeyboardEvent) => {
    const direction = DIRECTIONS[event.key];
    if (event.key === "Enter" && chosen) pick(chosen.run);
    else if (direction) setAt(at < 0 ? 0 : nearest(points, at, ...direction));
    else if (event.key === "Home" || event.key === "End") setAt(event.key === "Home" ? 0 : points.length - 1);
    else return;
    event.preventDefault();
  };
  return (
    <div class="chart">
      <svg class={kind} viewBox={`0 0 ${width} ${height}`} tabindex={0} role="application" aria-roledescription="chart" aria-label={label} onKeyDown={key} onPointerLeave={() => setAt(-1)}>
        {children}
        {points.map((one, i) => (
          <g class={i === at ? "here" : undefined} data-run={one.run} data-value={one.value} onClick={() => pick(one.run)} onPointerEnter={() => setAt(i)}>{draw(one, i)}</g>
        ))}
      </svg>
      <p class="note" role="status">{chosen ? chosen.text + ". Click or Enter opens its run." : "Point at a mark or use the arrow keys."}</p>
    </div>
  );
}

// A point for each run; a line through the means of versions, whose names are at their first runs.
export function Trend({ runs, unit, pick }: { runs: Run[]; unit: string; pick: (run: string) => void }) {
  const width = useWidth(), end = width - RIGHT;
  if (!runs.length) return <p class="note">No runs.</p>;
  const first = moment(runs[0].started), last = moment(runs[runs.length - 1].started);
  const most = Math.max(1, ...runs.map((run) => run.total)) * 1.05, even = last === first;
  const y = (value: number): number => TOP + HEIGHT * (1 - value / most);
  const points = runs.map((run, i): Point => ({
    x: LEFT + (end - LEFT) * (even ? (i + 0.5) / runs.length : (moment(run.started) - first) / (last - first)), y: y(run.total), run: run.run, value: run.total,
    text: `${short(moment(run.started))} ${run.version || "no version"} on ${run.host}: ${figure(run.total, unit)}`,
  }));
  const versions: { name: string; from: number; until: number; sum: number; count: number }[] = [];
  runs.forEach((run, i) => {
    let own = versions.find((one) => one.name === run.version);
    if (!own) versions.push((own = { name: run.version, from: points[i].x, until: 0, sum: 0, count: 0 }));
    own.until = points[i].x;
    own.sum += run.total;
    own.count++;
  });
  let free = -Infinity; // where there is room for the next name
  const named = versions.map((one) => {
    if (one.from < free) return false;
    free = one.from + 8 + 6.5 * (one.name || "no version").length;
    return true;
  });
  return (
    <Chart kind="trend" label={`Cost by run, ${count(runs.length)} runs. Arrow keys go from run to run, Enter opens it.`} width={width} height={HEIGHT + TOP + 26} points={points} pick={pick}
      draw={(one) => <circle cx={one.x} cy={one.y} r="4" />}>
      {[0, 0.5, 1].map((part) => (
        <g class="grid"><line x1={LEFT} x2={end} y1={y(part * most)} y2={y(part * most)} />
          <text x={LEFT - 8} y={y(part * most) + 4} text-anchor="end">{figure(part * most, unit)}</text></g>
      ))}
      {versions.map((one, i) => (
        <g class="version" data-version={one.name} data-value={one.sum / one.count}>
          <line class="mark" x1={one.from} x2={one.from} y1={TOP - 4} y2={y(0)} />
          <line class="mean" x1={one.from - 4} x2={one.until + 4} y1={y(one.sum / one.count)} y2={y(one.sum / one.count)}>
            <title>{(one.name || "no version") + ": " + figure(one.sum / one.count, unit) + " a run, " + count(one.count) + " runs"}</title>
          </line>
          {named[i] && <text x={one.from + 3} y={TOP - 10}>{one.name || "no version"}</text>}
        </g>
      ))}
      <text class="axis" x={LEFT} y={HEIGHT + TOP + 20}>{short(first)}</text>
      {!even && <text class="axis" x={end} y={HEIGHT + TOP + 20} text-anchor="end">{short(last)}</text>}
    </Chart>
  );
}

const PER_DOUBLING = 2; // rows of the database's answer

// Numbers of spans by time, in columns of `step` seconds, and by duration, on a logarithmic axis. Times
// and durations without spans have their place, too.
export function Heat({ cells, step, pick }: { cells: Cell[]; step: number; pick: (run: string) => void }) {
  const width = useWidth(), end = width - RIGHT;
  if (!cells.length) return <p class="note">No spans.</p>;
  const times = cells.map((cell) => moment(cell.time)), rows = cells.map((cell) => Math.round(Math.log2(Math.max(1, cell.at_least)) * PER_DOUBLING));
  const first = Math.min(...times), lowest = Math.min(...rows), most = Math.max(...cells.map((cell) => cell.spans));
  const columns = Math.round((Math.max(...times) - first) / (step * 1000)) + 1, lines = Math.max(...rows) - lowest + 1;
  const wide = (end - LEFT) / columns, high = Math.max(4, Math.min(22, HEIGHT / lines)), every = Math.ceil(16 / high), bottom = lines * high;
  const points = cells.map((cell, i): Point => ({
    x: LEFT + Math.round((times[i] - first) / (step * 1000)) * wide, y: bottom - (rows[i] - lowest + 1) * high, run: cell.run, value: cell.spans,
    text: `${count(cell.spans)} ${cell.spans === 1 ? "span" : "spans"} of ${time(cell.at_least)} or more, ${short(times[i])}; the longest: ${time(cell.longest)}`,
  }));
  return (
    <Chart kind="heat" label={`Spans by time and duration, ${count(cells.length)} cells. Arrow keys go from cell to cell, Enter opens the run of its longest span.`} width={width} height={bottom + 30} points={points} pick={pick}
      draw={(one, i) => <rect x={one.x} y={one.y} width={Math.max(1, Math.min(wide, 120) - 1)} height={high - (high > 6 ? 1 : 0)}
        style={{ fillOpacity: (0.15 + (0.85 * Math.log(1 + cells[i].spans)) / Math.log(1 + most)).toFixed(3) }} />}>
      {Array.from({ length: lines }, (_, i) => i).filter((i) => i % every === 0).map((i) => (
        <g class="grid"><line x1={LEFT - 4} x2={end} y1={bottom - i * high} y2={bottom - i * high} />
          <text x={LEFT - 8} y={bottom - i * high + 4} text-anchor="end">{time(Math.round(2 ** ((lowest + i) / PER_DOUBLING)))}</text></g>
      ))}
      <text class="axis" x={LEFT} y={bottom + 20}>{short(first)}</text>
      {columns > 1 && <text class="axis" x={end} y={bottom + 20} text-anchor="end">{short(first + columns * step * 1000)}</text>}
    </Chart>
  );
}
