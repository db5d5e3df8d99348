// SPDX-License-Identifier: MIT
// Counters over time, below the lanes of the timeline: a step from each value to the next. Where
// several values are within a pixel, a bar covers them.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import * as color from "./color";
import { Items, useAnswer } from "./data";
import { count, quantity } from "./format";
import { EDGE, View, gutterOf } from "./lanes";

type Point = [at: number, low: number | null, high: number | null, last: number | null];
interface Track { points: Point[]; track: { name: string; count: number; process?: string; pid?: number } }
export interface Counted { from: number; to: number; left_out: number; tracks: Track[]; }

const HEIGHT = 46, INSET = 4; // pixels

// Returns the least and the most value, and 0.
function rangeOf(points: Point[]): [number, number] {
  let low = 0, high = 0;
  for (const point of points) {
    if (point[1] !== null && point[1] < low) low = point[1];
    if (point[2] !== null && point[2] > high) high = point[2];
  }
  return [low, high];
}

// Returns the point in force at a moment.
function pointAt(points: Point[], at: number): Point | null {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= at) low = middle + 1;
    else high = middle;
  }
  return low ? points[low - 1] : null;
}

const written = (value: number | null): string => (value === null ? "no number" : quantity(value));

function paint(canvas: HTMLCanvasElement, points: Point[], view: View, at: number | null): void {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, gutter = gutterOf(width), scale = (width - gutter - EDGE) / (view.to - view.from);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  const context = canvas.getContext("2d")!, [low, high] = rangeOf(points), room = HEIGHT - 2 * INSET;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, HEIGHT);
  context.beginPath();
  context.rect(gutter, 0, width - gutter - EDGE, HEIGHT);
  context.clip();
  const x = (moment: number) => gutter + (moment - view.from) * scale;
  const y = (value: number) => INSET + (high > low ? ((high - value) / (high - low)) * room : room);
  context.fillStyle = color.ink("--bar");
  context.strokeStyle = color.ink("--accent");
  context.lineWidth = 1.5;
  for (const [i, [moment, least, most, last]] of points.entries()) {
    const left = x(moment), right = i + 1 < points.length ? x(points[i + 1][0]) : width;
    if (last !== null) {
      context.globalAlpha = 0.45;
      context.fillRect(left, Math.min(y(last), y(0)), right - left, Math.abs(y(last) - y(0)));
      context.globalAlpha = 1;
    }
    context.beginPath();
    if (least !== null && most !== null && least < most) { context.moveTo(left, y(least)); context.lineTo(left, y(most)); }
    if (last !== null) { context.moveTo(left, y(last)); context.lineTo(right, y(last)); }
    if (last !== null && i + 1 < points.length && points[i + 1][3] !== null) context.lineTo(right, y(points[i + 1][3]!));
    context.stroke();
  }
  if (at === null) return;
  context.fillStyle = color.ink("--ink");
  context.fillRect(Math.round(x(at)), 0, 1, HEIGHT);
}

function Chart({ its, view }: { its: Track; view: View }) {
  const canvas = useRef<HTMLCanvasElement>(null), [at, setAt] = useState<number | null>(null);
  const [, redraw] = useState(0);
  useLayoutEffect(() => { if (canvas.current) paint(canvas.current, its.points, view, at); });
  useLayoutEffect(() => {
    const again = () => redraw((n) => n + 1), resized = new ResizeObserver(again), off = color.onTheme(again);
    resized.observe(canvas.current!);
    return () => { resized.disconnect(); off(); };
  }, []);
  const { name, process, pid } = its.track, [low, high] = rangeOf(its.points);
  const now = at === null ? null : pointAt(its.points, at), last = its.points.length ? its.points[its.points.length - 1] : null;
  const point = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect(), gutter = gutterOf(box.width);
    const part = (event.clientX - box.left - gutter) / (box.width - gutter - EDGE);
    setAt(part < 0 || part > 1 ? null : view.from + part * (view.to - view.from));
  };
  return (
    <div class="counter" data-counter={name}>
      <canvas ref={canvas} role="img" style={{ height: HEIGHT + "px" }} onPointerMove={point} onPointerLeave={() => setAt(null)}
        aria-label={last ? `Counter ${name}: ${written(low)} to ${written(high)}, ${written(last[3])} at the end` : `Counter ${name}: not set yet`} />
      <div class="counter-name" title={name + (process !== undefined ? ", " + process + (pid ? " " + pid : "") : "")}>
        <b>{name}</b>
        <span data-what="value">{at !== null ? (now ? (now[1] !== now[2] ? written(now[1]) + " to " + written(now[2]) : written(now[3])) : "not set") : last ? `${written(low)} to ${written(high)}` : "not set"}</span>
      </div>
    </div>
  );
}

export function Counters({ base, generation, view, asked }: { base: Items; generation: number; view: View; asked: Items }) {
  const { data } = useAnswer<Counted>("counters", [...base, ["pixels", "700"], ...asked], generation);
  if (!data) return null;
  return (
    <section class="counters" aria-label="Counters">
      {data.tracks.map((its) => <Chart key={its.track.name + "\n" + its.track.pid} its={its} view={view} />)}
      {data.left_out > 0 && <p class="note">{count(data.left_out)} more counters: see the table counters in SQL</p>}
    </section>
  );
}
