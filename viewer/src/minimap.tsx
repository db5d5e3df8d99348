// SPDX-License-Identifier: MIT
// The whole run in a strip above the timeline, with the window that the timeline shows. The strip
// has no keys, as the timeline's keys do the same.
import { useLayoutEffect, useRef } from "preact/hooks";
import * as color from "./color";
import { Items, useAnswer } from "./data";
import { Chart, EDGE, View, barOf, gutterOf } from "./lanes";

const HEIGHT = 44, PIXELS = "500", LEAST = 2;

function paint(canvas: HTMLCanvasElement, chart: Chart, view: View, length: number): void {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  const context = canvas.getContext("2d")!, gutter = gutterOf(width), scale = (width - gutter - EDGE) / length;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, HEIGHT);
  const lanes = new Map(chart.lanes.filter((lane) => lane.spans).map((lane, i) => [lane.lane, i])), tall = Math.max(LEAST, HEIGHT / Math.max(1, lanes.size));
  for (const bar of chart.bars.map(barOf)) {
    const lane = lanes.get(bar.lane);
    if (lane === undefined || bar.row > 0) continue;
    context.globalAlpha = bar.count > 1 ? 0.3 + 0.7 * Math.min(1, bar.busy / Math.max(1, bar.end - bar.start)) : 1;
    context.fillStyle = color.ofBlock(chart.blocks[bar.block].name, chart.blocks[bar.block].file);
    context.fillRect(gutter + bar.start * scale, (lane * tall) % HEIGHT, Math.max(1, (bar.end - bar.start) * scale), Math.max(1, tall - 1));
  }
  context.globalAlpha = 0.6;
  context.fillStyle = color.ink("--page");
  const left = gutter + view.from * scale, right = Math.max(left + 2, gutter + view.to * scale);
  context.fillRect(gutter, 0, left - gutter, HEIGHT);
  context.fillRect(right, 0, width - right, HEIGHT);
  context.globalAlpha = 1;
  context.strokeStyle = color.ink("--accent");
  context.lineWidth = 2;
  context.strokeRect(left, 1, right - left, HEIGHT - 2);
}

export function Minimap({ base, generation, view, length, move }: {
  base: Items; generation: number; view: View; length: number;
  move: (middle: number) => void; // moves the window
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { data } = useAnswer<Chart>("timeline", [...base, ["from", "0"], ["to", String(length)], ["pixels", PIXELS], ["lane", "0"], ["lanes", "128"]], generation);
  useLayoutEffect(() => {
    if (data && canvas.current) paint(canvas.current, data, view, length);
  });
  const go = (event: PointerEvent) => {
    if (!(event.buttons & 1)) return;
    const box = canvas.current!.getBoundingClientRect(), gutter = gutterOf(box.width);
    move(Math.max(0, Math.min(1, (event.clientX - box.left - gutter) / (box.width - gutter - EDGE))) * length);
  };
  return (
    <canvas ref={canvas} class="minimap" aria-hidden="true" style={{ height: HEIGHT + "px" }} onPointerMove={go}
      onPointerDown={(event) => { canvas.current!.setPointerCapture(event.pointerId); go(event); }} />
  );
}
