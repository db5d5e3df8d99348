// SPDX-License-Identifier: MIT
// Draws the timeline on a canvas: lanes, bars, arrows and the axis.
import * as color from "./color";
import { Block } from "./data";
import { count, moment } from "./format";
import { matches as isMatch } from "./search";
import { Iteration, nameOf } from "./span";

export const ROW = 19, EDGE = 8;
const GAP = 4, HEAD = 5, TOP = 4; // TOP leaves space for the mark of a short span
export const AXIS = 26; // height of the axis, a canvas of its own that stays visible

// Returns the width of the column of lane names.
export const gutterOf = (width: number): number => (width < 560 ? 82 : 150);
const TEXT = "11.5px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

export interface Lane { lane: number; name: string; rows: number; spans: number; }
export interface Bar { lane: number; row: number; start: number; end: number; busy: number; block: number; count: number; span: number; iteration: Iteration; open: number; }
export interface Arrow { kind: string; from: number; to: number; from_lane: number; from_row: number; to_lane: number; to_row: number; left: number; arrives: number; }
export interface Chart { from: number; to: number; length: number; lanes: Lane[]; bars: number[][]; arrows: Arrow[]; arrows_left_out: number; counters: number; moments: number; counts: { spans: number; handoffs: number; waits: number; follows: number }; blocks: Record<string, Block>; finest: number; sent?: boolean; }

export interface View { from: number; to: number; }

export const barOf = (b: any[]): Bar => ({ lane: b[0], row: b[1], start: b[2], end: b[3], busy: b[4], block: b[5], count: b[6], span: b[7], iteration: b[8], open: b[9] });

export const laneName = (lane: Lane | undefined, number: number): string => (lane && lane.name) || "lane " + number;

export const LANES = 128;
const TALLEST = 8000;

export interface Places { at: Record<number, number>; rows: Record<number, number>; height: number; shown: Lane[]; }

// Returns the position of each lane from `first` on, by number, and the total height, as far as the
// canvas allows.
export function tops(lanes: Lane[], first: number): Places {
  const at: Record<number, number> = {}, rows: Record<number, number> = {}, shown: Lane[] = [];
  let y = TOP;
  for (const lane of lanes.slice(first, first + LANES)) {
    const tall = HEAD + Math.max(1, lane.rows) * ROW + GAP;
    if (shown.length && y + tall > TALLEST) break;
    at[lane.lane] = y + HEAD;
    rows[lane.lane] = Math.max(1, lane.rows);
    shown.push(lane);
    y += tall;
  }
  return { at, rows, height: y, shown };
}

const niceSteps = [1, 2, 5];
function stepOf(span: number, room: number): number {
  let step = 1;
  for (let power = 1; power < 1e18; power *= 10)
    for (const nice of niceSteps) {
      step = nice * power;
      if ((span / step) * 90 < room) return step;
    }
  return step;
}

// Returns the grid lines of the axis.
function marks(view: View, width: number): { at: number; step: number; x: number }[] {
  const gutter = gutterOf(width), room = width - gutter - EDGE, span = view.to - view.from, step = stepOf(span, room), all = [];
  for (let at = Math.ceil(view.from / step) * step; at < view.to; at += step)
    all.push({ at, step, x: Math.round(gutter + ((at - view.from) / span) * room) + 0.5 });
  return all;
}

function paintMarks(context: CanvasRenderingContext2D, view: View, width: number, top: number, bottom: number): void {
  context.strokeStyle = color.ink("--line");
  context.lineWidth = 1;
  for (const { x } of marks(view, width)) {
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, bottom);
    context.stroke();
  }
}

export interface Picture {
  chart: Chart; bars: Bar[]; view: View; place: Places;
  selected: number; hovered: number; search: string;
  around: Set<number>; // ancestors of the selected span
  pinned: { lane: number; row: number; start: number; end: number } | null; // the selected span
  chosen: [number, number] | null; // pixels, while dragging
  range: { since: number; until: number } | null; // the selected range of time
}

function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let room = Math.floor((text.length * width) / context.measureText(text).width) - 1;
  while (room > 1 && context.measureText(text.slice(0, room) + "…").width > width) room--;
  return room > 1 ? text.slice(0, room) + "…" : "";
}

// Returns the bar's text: the block's name, or if there is little space, the data that distinguish
// the span from others of its block.
function labelOf(context: CanvasRenderingContext2D, bar: Bar, block: Block, width: number): string {
  const label = bar.count > 1 ? count(bar.count) + " × " + block.name : nameOf(block, bar.iteration), shown = fitted(context, label, width);
  if (shown.length >= Math.min(label.length, 7)) return shown;
  const short = bar.count > 1 ? count(bar.count) + " ×" : bar.iteration === null ? "" : "#" + bar.iteration;
  return short && context.measureText(short).width <= width ? short : width > 21 ? shown : "";
}

function paintBars(context: CanvasRenderingContext2D, picture: Picture, width: number): void {
  const { view, chart, place } = picture, gutter = gutterOf(width), room = width - gutter - EDGE, scale = room / (view.to - view.from);
  const ink = color.ink("--box-ink"), strong = color.ink("--ink"), edge = color.ink("--page");
  const faint = color.ink("--faint-box"), found = color.ink("--match"), dim = color.ink("--dim"), accent = color.ink("--accent"), text = picture.search;
  for (const bar of picture.bars) {
    const left = gutter + (bar.start - view.from) * scale, right = gutter + (bar.end - view.from) * scale;
    if (right < gutter || left > width || place.at[bar.lane] === undefined || bar.row >= place.rows[bar.lane]) continue;
    const x = Math.max(gutter, left), w = Math.max(1, Math.min(width, right) - x);
    const y = place.at[bar.lane] + bar.row * ROW, block = chart.blocks[bar.block];
    const matches = text && isMatch(block, text);
    context.globalAlpha = bar.count > 1 ? 0.45 + 0.55 * Math.min(1, bar.busy / Math.max(1, bar.end - bar.start)) : 1;
    context.fillStyle = matches ? found : text ? faint : color.ofBlock(block.name, block.file);
    context.fillRect(x, y, Math.max(1, w - (w > 3 ? 1 : 0)), ROW - 2);
    context.globalAlpha = 1;
    if (bar.open) { context.fillStyle = edge; for (let i = 0; i < 3; i++) context.fillRect(x + w - 4 - 4 * i, y, 2, ROW - 2); }
    const around = picture.around.has(bar.span);
    if (bar.span === picture.selected || bar.span === picture.hovered || around) {
      context.strokeStyle = around ? accent : strong;
      context.lineWidth = around || bar.span === picture.selected ? 2 : 1;
      context.strokeRect(x + 1, y + 1, Math.max(1, w - 3), ROW - 4);
    }
    if (w > 16) {
      context.fillStyle = text && !matches ? dim : ink;
      context.fillText(labelOf(context, bar, block, w - 7), x + 4, y + ROW / 2 - 0.5);
    }
  }
}

// Marks the selected span, however short it is.
function paintPin(context: CanvasRenderingContext2D, picture: Picture, width: number): void {
  const { view, place, pinned } = picture, gutter = gutterOf(width), scale = (width - gutter - EDGE) / (view.to - view.from);
  if (!pinned || place.at[pinned.lane] === undefined || pinned.end < view.from || pinned.start > view.to) return;
  const left = gutter + (pinned.start - view.from) * scale, w = (pinned.end - pinned.start) * scale, y = place.at[pinned.lane] + Math.min(pinned.row, place.rows[pinned.lane] - 1) * ROW;
  if (w > 6) return; // wide bars have an outline
  const x = left + w / 2;
  context.fillStyle = color.ink("--ink");
  context.fillRect(x - 1, y - 3, 2, ROW + 4);
  context.beginPath();
  context.moveTo(x - 5, y - 8);
  context.lineTo(x + 5, y - 8);
  context.lineTo(x, y - 1);
  context.fill();
}

// If there are more arrows than this, only those of the selected or pointed-at span stand out.
const MANY = 150;

function paintArrows(context: CanvasRenderingContext2D, picture: Picture, width: number): void {
  const { view, chart, place } = picture, gutter = gutterOf(width), scale = (width - gutter - EDGE) / (view.to - view.from);
  const many = chart.arrows.length > MANY;
  const colors: Record<string, string> = { handoff: color.ink("--accent"), waits: color.ink("--warm"), follows: color.ink("--dim") };
  for (const arrow of chart.arrows) {
    const related = [arrow.from, arrow.to].some((span) => span === picture.selected || span === picture.hovered);
    const x0 = gutter + (arrow.left - view.from) * scale, x1 = gutter + (arrow.arrives - view.from) * scale;
    if (place.at[arrow.from_lane] === undefined || place.at[arrow.to_lane] === undefined) continue;
    const top = (lane: number, row: number) => place.at[lane] + Math.min(row, place.rows[lane] - 1) * ROW;
    const down = arrow.to_lane > arrow.from_lane || (arrow.to_lane === arrow.from_lane && arrow.to_row >= arrow.from_row);
    const y0 = top(arrow.from_lane, arrow.from_row) + (down ? ROW - 2 : 0);
    const y1 = top(arrow.to_lane, arrow.to_row) + (down ? 0 : ROW - 2);
    if (Math.max(x0, x1) < gutter || Math.min(x0, x1) > width) continue;
    const sign = down ? 1 : -1, bend = Math.max(14, Math.abs(y1 - y0) / 2) * sign;
    context.strokeStyle = context.fillStyle = colors[arrow.kind] || colors.follows;
    context.lineWidth = related ? 2.2 : 1.3;
    context.globalAlpha = related ? 0.9 : many ? 0.12 : picture.selected >= 0 ? 0.35 : 0.9;
    context.setLineDash(arrow.kind === "handoff" ? [] : [4, 3]);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1 - 5 * sign);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.arc(x0, y0, 2, 0, 7);
    context.fill();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 4, y1 - 8 * sign);
    context.lineTo(x1 + 4, y1 - 8 * sign);
    context.fill();
    context.globalAlpha = 1;
  }
}

// Draws the lanes' names, and their numbers of spans if there is space.
function paintLanes(context: CanvasRenderingContext2D, picture: Picture, width: number): void {
  const { place } = picture, gutter = gutterOf(width), right = gutter - 12;
  context.fillStyle = color.ink("--page");
  context.fillRect(0, 0, gutter - EDGE - 1, place.height);
  place.shown.forEach((lane) => {
    const y = place.at[lane.lane], middle = y + ROW / 2 - 0.5, spans = count(lane.spans), name = laneName(lane, lane.lane);
    context.fillStyle = color.ink("--line");
    context.fillRect(0, y - HEAD + 1, width, 1);
    context.font = "600 " + TEXT;
    const wide = context.measureText(name).width, beside = right - context.measureText(spans).width - 8;
    const below = lane.rows > 1 && wide > beside;
    context.fillStyle = color.ink("--ink");
    context.fillText(fitted(context, name, lane.rows > 1 ? right - 4 : beside), 4, middle);
    context.font = TEXT;
    context.fillStyle = color.ink("--dim");
    context.textAlign = "right";
    context.fillText(spans, right, below ? middle + ROW : middle);
    context.textAlign = "left";
  });
}

// Sets a canvas to its size on the screen in device pixels.
function begin(canvas: HTMLCanvasElement): [CanvasRenderingContext2D, number, number] {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = TEXT;
  context.textBaseline = "middle";
  return [context, width, height];
}

export function paintAxis(canvas: HTMLCanvasElement, view: View): void {
  const [context, width, height] = begin(canvas);
  context.fillStyle = color.ink("--page");
  context.fillRect(0, 0, width, height);
  paintMarks(context, view, width, AXIS - 6, height);
  context.fillStyle = color.ink("--dim");
  for (const { at, step, x } of marks(view, width)) if (x + 60 < width) context.fillText(moment(at, step), x + 4, 10);
}

export function paint(canvas: HTMLCanvasElement, picture: Picture): void {
  const [context, width, height] = begin(canvas);
  paintMarks(context, picture.view, width, 0, height);
  context.save();
  context.beginPath();
  const gutter = gutterOf(width);
  context.rect(gutter - EDGE, 0, width - gutter + EDGE, height);
  context.clip();
  paintBars(context, picture, width);
  paintArrows(context, picture, width);
  paintPin(context, picture, width);
  const { view, range } = picture, scale = (width - gutter - EDGE) / (view.to - view.from), xOf = (at: number) => gutter + (at - view.from) * scale;
  for (const pair of [picture.chosen, range && [xOf(range.since), xOf(range.until)]]) {
    if (!pair) continue;
    context.globalAlpha = 0.2;
    context.fillStyle = color.ink("--accent");
    context.fillRect(Math.min(...pair), 0, Math.abs(pair[1] - pair[0]), height);
    context.globalAlpha = 1;
  }
  context.restore();
  paintLanes(context, picture, width);
}
