// SPDX-License-Identifier: MIT
// Events and log lines below the lanes of the timeline, and for each thread
// when it had no core, waiting (grey) or ready without a free core (warm).
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import * as color from "./color";
import { Items, useAnswer } from "./data";
import { count, time } from "./format";
import { EDGE, View, gutterOf } from "./lanes";
import { Place } from "./parts";
import { spanLink } from "./span";

interface Happened { at: number; level: string; text: string; span: number; lane: number }
interface Away { pixels: [pixel: number, waiting: number, ready: number][]; name: string; lane: number; waiting: number; ready: number }
export interface Moments { from: number; to: number; events: Happened[]; events_left_out: number; off_core: Away[]; lanes_left_out: number }

const HEIGHT = 16, PIXELS = 700;

// Returns a canvas that is drawn again whenever it, the theme or what it shows changes.
function useStrip(view: View, draw: (context: CanvasRenderingContext2D, x: (moment: number) => number) => void) {
  const canvas = useRef<HTMLCanvasElement>(null), [, redraw] = useState(0);
  useLayoutEffect(() => {
    const its = canvas.current!, ratio = devicePixelRatio || 1, width = its.clientWidth, gutter = gutterOf(width), scale = (width - gutter - EDGE) / (view.to - view.from);
    its.width = Math.round(width * ratio);
    its.height = Math.round(HEIGHT * ratio);
    const context = its.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, HEIGHT);
    context.beginPath();
    context.rect(gutter, 0, width - gutter - EDGE, HEIGHT);
    context.clip();
    draw(context, (moment) => gutter + (moment - view.from) * scale);
  });
  useLayoutEffect(() => {
    const again = () => redraw((n) => n + 1), resized = new ResizeObserver(again), off = color.onTheme(again);
    resized.observe(canvas.current!);
    return () => { resized.disconnect(); off(); };
  }, []);
  return canvas;
}

const inkOf = (level: string): string => color.ink(level === "error" || level === "warning" ? "--warm" : level === "event" ? "--accent" : "--dim");

function Events({ data, view, place }: { data: Moments; view: View; place: Place }) {
  const canvas = useStrip(view, (context, x) => {
    for (const one of data.events) {
      context.fillStyle = inkOf(one.level);
      context.fillRect(Math.round(x(one.at)) - 1, one.level === "error" ? 0 : 4, 2, HEIGHT);
    }
  });
  const all = data.events.length + data.events_left_out;
  return (
    <>
      <div class="counter" data-what="events">
        <canvas ref={canvas} role="img" style={{ height: HEIGHT + "px" }} aria-label={`Events and log lines: ${count(all)}`} />
        <div class="counter-name"><b>events</b></div>
      </div>
      <details class="events">
        <summary>{count(all)} {all === 1 ? "event" : "events"} and log lines</summary>
        <ol>
          {data.events.map((one) => (
            <li key={one.at + " " + one.span} data-level={one.level}>
              <span>{time(one.at)}</span> {one.level !== "event" && <b class={one.level === "error" || one.level === "warning" ? "warm" : ""}>{one.level}</b>} <a href={spanLink(place.route, one.span)}><bdi>{one.text}</bdi></a>
            </li>
          ))}
        </ol>
        {data.events_left_out > 0 && <p class="note">{count(data.events_left_out)} more: zoom in, or see the table events in SQL</p>}
      </details>
    </>
  );
}

function OffCore({ its, data, view }: { its: Away; data: Moments; view: View }) {
  const canvas = useStrip(view, (context, x) => {
    const width = (data.to - data.from) / PIXELS;
    for (const [pixel, waiting, ready] of its.pixels) {
      const left = x(data.from + pixel * width), right = Math.max(left + 1, x(data.from + (pixel + 1) * width));
      const low = (Math.min(1, waiting / width)) * HEIGHT, high = (Math.min(1, ready / width)) * HEIGHT;
      context.fillStyle = color.ink("--line");
      context.fillRect(left, HEIGHT - low, right - left, low);
      context.fillStyle = color.ink("--warm");
      context.fillRect(left, HEIGHT - low - high, right - left, high);
    }
  });
  const text = `waiting ${time(its.waiting)}, ready without a core ${time(its.ready)}`;
  return (
    <div class="counter" data-off-core={its.name}>
      <canvas ref={canvas} role="img" style={{ height: HEIGHT + "px" }} aria-label={`${its.name || its.lane}: ${text}`} title={text} />
      <div class="counter-name" title={text}><b>{its.name || its.lane}</b></div>
    </div>
  );
}

export function MomentsBelow({ base, generation, view, asked, place }: { base: Items; generation: number; view: View; asked: Items; place: Place }) {
  const { data } = useAnswer<Moments>("moments", [...base, ["pixels", String(PIXELS)], ...asked], generation);
  if (!data) return null;
  const lanes = data.off_core.filter((its) => its.pixels.length);
  return (
    <>
      {data.events.length > 0 && <section class="counters" aria-label="Events"><Events data={data} view={view} place={place} /></section>}
      {lanes.length > 0 && (
        <section class="counters" aria-label="Threads without a core">
          <p class="note">No core: <i class="swatch waits" /> waiting, <i class="swatch ready" /> ready, no core free</p>
          {lanes.map((its) => <OffCore key={its.lane} its={its} data={data} view={view} />)}
          {data.lanes_left_out > 0 && <p class="note">{count(data.lanes_left_out)} more lanes: see the table off_core in SQL</p>}
        </section>
      )}
    </>
  );
}
