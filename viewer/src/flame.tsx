// SPDX-License-Identifier: MIT
// The flame graph, drawn on a canvas of the size of its visible part.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Box, Flame, Layout, layOut, zoomTo } from "./boxes";
import * as color from "./color";
import { FileLegend, FileRanks, colorOfFile, rankFiles } from "./file_colors";
import { Block, Items, fullName, useAnswer, useStill } from "./data";
import { change, count, figure, share } from "./format";
import { Few, Likely, Named, Place, Problem, Transforms, Waiting, dropOf, sourceOf, transformByKey } from "./parts";
import { Shape, setShapes, unsetShapes } from "./picture";
import { go, to, write } from "./route";
import { matches as isMatch } from "./search";

const ROW = 21;

// Boxes narrower than a pixel are not requested. The width is rounded, so that small resizes need
// no new answer.
const STEP = 128, BESIDE = 216; // menu and margins
const widthAsked = (): string => String(Math.min(4096, Math.max(512, Math.round((innerWidth - BESIDE) / STEP) * STEP)));

// Levels below the screen are requested when the user moves or searches there.
const LEVELS = 8, levelsSeen = (): number => Math.ceil(innerHeight / ROW / LEVELS) * LEVELS;
const TEXT = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

export type Coloring = "block" | "file" | "cost" | "calls" | "diff";

interface Painting {
  layout: Layout;
  coloring: Coloring;
  files: FileRanks;
  mostSelf: number;
  mostCalls: number;
  matches: Set<number> | null;
  selected: Box | null;
  hovered: Box | null;
  upwards: boolean;
  scale: number; // of a difference
}

// Cached by block: looking colours up by name for each box would take longer than drawing it.
const colors = [new WeakMap<Block, string>(), new WeakMap<Block, string>()];

function colorOfBlock(block: Block, dark: boolean): string {
  const known = colors[dark ? 1 : 0];
  let its = known.get(block);
  if (!its) known.set(block, (its = color.ofBlock(block.name, block.file, dark)));
  return its;
}

function fill(box: Box, painting: Painting, dark: boolean): string {
  if (box.block.id === 0 && box.depth === 0 && (painting.coloring === "block" || painting.coloring === "file")) return color.ink("--stone");
  switch (painting.coloring) {
    case "cost":
      return color.heat(Math.sqrt(box.self / (painting.mostSelf || 1)), dark);
    case "calls":
      return color.heat(Math.log1p(box.calls) / Math.log1p(painting.mostCalls || 1), dark);
    case "file":
      return colorOfFile(painting.files, box.block.file, dark);
    case "diff":
      return box.chance ? color.ink("--stone") : color.diff((box.inclusive - box.before * painting.scale) / (Math.max(box.inclusive, box.before * painting.scale) || 1), dark);
    default:
      return colorOfBlock(box.block, dark);
  }
}

const LETTER = 7.23, plainText = /^[ -~]*$/; // width of a letter of the monospaced font

// Shortens a name to fit: first its folders are dropped.
function label(context: CanvasRenderingContext2D, text: string, width: number): string {
  const room = Math.floor(width / LETTER);
  if (room < 3) return "";
  if (text.length <= room || (!plainText.test(text) && context.measureText(text).width <= width)) return text;
  const folders = text.slice(0, text.search(/[(<\s]|$/)).lastIndexOf("/");
  const last = folders > 0 ? text.slice(folders + 1) : text;
  if (last.length < text.length && last.length + 1 <= room) return "…" + last;
  return last.slice(0, Math.max(1, room - 1)) + "…";
}

// Draws the name and the number of recursive calls; the mark stays even if the name does not fit.
function paintText(context: CanvasRenderingContext2D, box: Box, x: number, y: number, width: number): void {
  const mark = box.cycles > 0 ? "↺ " + count(box.cycles) : "";
  const size = mark ? context.measureText(mark).width : 0;
  const shown = mark && size > width ? (width >= LETTER ? "↺" : "") : mark;
  const room = shown ? width - Math.min(size, width) - 2 * LETTER : width, full = fullName(box.block);
  const name = label(context, box.block.within && context.measureText(full).width <= room ? full : box.block.name, room);
  if (name) context.fillText(name, x, y);
  if (shown) context.fillText(shown, x + (name ? context.measureText(name).width + 2 * LETTER : 0), y);
}

// Converts "#rgb" or "#rrggbb" to a pixel of an image.
function pixelOf(hex: string): number {
  const wide = hex.length === 4 ? hex.replace(/[^#]/g, "$&$&") : hex, n = parseInt(wide.slice(1), 16);
  return (0xff000000 | ((n & 255) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
}

const NARROW = 3; // pixels: narrower boxes have neither text nor gap

// Draws narrow boxes, of which there can be thousands: each row is one line of pixels, stretched to
// the row's height.
class Strip {
  private image: ImageData;
  private pixels: Uint32Array;
  private known = new Map<string, number>();
  private ys: number[] = [];
  private used = false;
  constructor(private width: number, private ratio: number, rows: number) {
    this.image = new ImageData(width, rows);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }
  row(y: number): void {
    this.ys.push(y);
  }
  put(x: number, end: number, color: string): void {
    let pixel = this.known.get(color);
    if (pixel === undefined) this.known.set(color, (pixel = pixelOf(color)));
    const from = Math.max(0, Math.floor(x * this.ratio)), to = Math.min(this.width, Math.max(from + 1, Math.round(end * this.ratio)));
    const line = (this.ys.length - 1) * this.width;
    this.pixels.fill(pixel, line + from, line + to);
    this.used = true;
  }
  draw(context: CanvasRenderingContext2D): void {
    if (!this.used) return;
    const strip = document.createElement("canvas");
    strip.width = this.image.width;
    strip.height = this.image.height;
    strip.getContext("2d")!.putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    this.ys.forEach((y, i) => context.drawImage(strip, 0, i, this.width, 1, 0, y, this.width / this.ratio, ROW - 1));
  }
}

function paint(canvas: HTMLCanvasElement, painting: Painting, top: number): void {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = TEXT;
  context.textBaseline = "middle";
  const ink = color.ink("--box-ink"), edge = color.ink("--page"), strong = color.ink("--ink");
  const faint = color.ink("--faint-box"), faintInk = color.ink("--dim");
  const found = color.ink("--match"), hatched = color.ink("--hatch"), dark = color.dark();
  const isFound = (box: Box): boolean => painting.matches !== null && box.row >= 0 && painting.matches.has(box.block.id);
  const colorOf = (box: Box): string =>
    isFound(box) ? found : box.row < 0 ? hatched : painting.matches !== null ? faint : fill(box, painting, dark);
  const paintBox = (box: Box, y: number): void => {
    const x = box.x * width;
    let w = Math.max(box.width * width, NARROWEST);
    if (box.special && w < 5) w = 5;
    const off = painting.matches !== null && !isFound(box);
    context.fillStyle = colorOf(box);
    context.fillRect(x, y, w - (w > 3 ? 1 : 0), ROW - 1);
    if (box.special || box.row < 0) hatch(context, x, y, w - 1, ROW - 1, edge);
    if (w > 9 + LETTER) {
      context.fillStyle = off || box.row < 0 ? faintInk : ink;
      paintText(context, box, x + 4, y + ROW / 2, w - 9);
    }
    if (box === painting.selected || box === painting.hovered) {
      context.strokeStyle = strong;
      context.lineWidth = box === painting.selected ? 2 : 1;
      context.strokeRect(x + 1, y + 1, Math.max(1, w - 3), ROW - 3);
    }
  };
  const rows = painting.layout.rows.filter((row) => {
    const y = yOf(row[0], painting) - top;
    return y + ROW >= 0 && y <= height;
  });
  const strip = new Strip(canvas.width || 1, ratio, rows.length || 1), wide: [Box, number][] = [];
  for (const row of rows) {
    const y = yOf(row[0], painting) - top;
    strip.row(y);
    let painted = -1; // painted up to here
    for (const box of row) {
      const end = (box.x + box.width) * width;
      if (end < painted + NARROWEST && !box.special) continue;
      if (box.width * width < NARROW && !box.special) strip.put(box.x * width, end, colorOf(box));
      if (box.width * width >= NARROW || box.special || box === painting.selected || box === painting.hovered) wide.push([box, y]);
      painted = end;
    }
  }
  strip.draw(context);
  for (const [box, y] of wide) paintBox(box, y);
}

const INVISIBLE = 0.3; // pixels: narrower boxes are not saved

function shapesOf(painting: Painting, width: number, flame: Flame): { width: number; height: number; all: Shape[] } {
  const context = document.createElement("canvas").getContext("2d")!, dark = color.dark(), { layout, matches } = painting;
  context.font = TEXT;
  const all = layout.boxes.filter((box) => box.width * width >= INVISIBLE).map((box): Shape => {
    const w = box.width * width, found = box.row >= 0 && matches?.has(box.block.id);
    const colour = found ? color.ink("--match") : box.row < 0 ? color.ink("--hatch") : matches ? color.ink("--faint-box") : fill(box, painting, dark);
    return { x: box.x * width, y: yOf(box, painting), width: w - (w > 3 ? 1 : 0), height: ROW - 1, fill: colour, ink: color.ink("--box-ink"), text: w > 9 + LETTER ? label(context, fullName(box.block), w - 9) : "", title: say(box, flame) };
  });
  return { width, height: layout.levels * ROW, all };
}

// pixels: narrower boxes are merged with their neighbours until they are this wide
const NARROWEST = 0.6;

function hatch(context: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, edge: string): void {
  if (w < 3) return;
  context.save();
  context.beginPath();
  context.rect(x, y, w, h);
  context.clip();
  context.strokeStyle = edge;
  context.globalAlpha = 0.5;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - h; at < x + w; at += 7) {
    context.moveTo(at, y + h);
    context.lineTo(at + h, y);
  }
  context.stroke();
  context.restore();
}

function yOf(box: Box, painting: Painting): number {
  return painting.upwards ? (painting.layout.levels - 1 - box.depth) * ROW : box.depth * ROW;
}

function boxAt(painting: Painting, part: number, y: number): Box | null {
  const row = Math.floor(y / ROW);
  const depth = painting.upwards ? painting.layout.levels - 1 - row : row;
  let found: Box | null = null;
  for (const box of painting.layout.rows[depth] || [])
    if (part >= box.x && part < box.x + box.width) found = box;
  return found;
}

function neighbour(box: Box, step: number): Box {
  const all = box.parent ? box.parent.children : [box];
  return all[all.indexOf(box) + step] || box;
}

// Describes a box in words.
function say(box: Box, flame: Flame): string {
  if (box.row < 0) return fullName(box.block) + ", " + figure(box.inclusive, flame.unit) + "; zoom in to show them";
  const parts = [fullName(box.block), figure(box.inclusive, flame.unit) + " (" + share(box.inclusive, flame.total) + ")"];
  if (!flame.callers) parts.push("self " + figure(box.self, flame.unit));
  if (box.calls) parts.push(count(box.calls) + (box.calls === 1 ? " call" : " calls"));
  if (box.cycles) parts.push("↺ " + count(box.cycles) + " recursive calls");
  return parts.join(", ");
}

export interface FlameProps {
  place: Place;
  route: "flame" | "diff-flame" | "span-flame";
  items: Items;
  coloring: Coloring;
  search: string;
  height?: number;
  zoomed?: { zoom: string; link: (zoom: string) => string }; // if not the page's own
  chosen?: number; // the function that is highlighted, if nothing is searched for
  choose?: (block: Block) => void; // called when a box is selected
}

export function FlameGraph({ place, route, items, coloring, search, height, zoomed, chosen, choose }: FlameProps) {
  const zoom = (zoomed ? zoomed.zoom : place.route.rest.zoom) || "";
  const link = zoomed ? zoomed.link : (next: string) => write({ ...place.route, rest: { ...place.route.rest, zoom: next } });
  const [levels, setLevels] = useState(levelsSeen());
  const asked: Items = [...items, zoom.startsWith("c") ? ["root", zoom.slice(1)] : ["zoom", zoom], ["width", widthAsked()]];
  if (levels && !search) asked.push(["levels", String(levels)]);
  const { data, error, waiting } = useAnswer<Flame>(route, asked, place.file.generation);
  const matches = useMemo(() => (search && data
    ? new Set(Object.entries(data.blocks).filter(([, block]) => isMatch(block, search)).map(([id]) => Number(id))) : chosen ? new Set([chosen]) : null), [search, data, chosen]);
  return useStill(waiting, () => error ? <Problem text={error} /> : !data ? <Waiting what="Drawing the flame graph" /> :
    !data.total ? <p class="note" data-what="nothing">No {data.metric} was recorded here.</p> :
    <Graph key={route + " " + place.route.file} what={JSON.stringify([items, zoom])} flame={data} place={place} coloring={coloring} matches={matches} height={height} plain={route !== "flame"} link={link} choose={choose}
      deeper={() => setLevels(0)} />);
}

function Graph({ what, flame, place, coloring, matches, height, plain, link, choose, deeper }: {
  what: string; // identity of the picture: a change scrolls to the root
  flame: Flame; place: Place; coloring: Coloring; matches: Set<number> | null; height?: number; plain: boolean; link: (zoom: string) => string;
  choose?: (block: Block) => void; deeper: () => void; // called when missing levels are needed
}) {
  const layout = useMemo(() => layOut(flame), [flame]);
  const canvas = useRef<HTMLCanvasElement>(null), frame = useRef<HTMLDivElement>(null);
  const [selected, setSelected] = useState<Box | null>(null);
  const [hovered, setHovered] = useState<Box | null>(null);
  const [, redraw] = useState(0);
  const upwards = place.route.rest.up === "1";
  const most = useMemo(() => ({
    mostSelf: layout.boxes.reduce((all, box) => Math.max(all, box.self), 1),
    mostCalls: layout.boxes.reduce((all, box) => Math.max(all, box.calls), 1),
  }), [layout]);
  const files = useMemo(() => rankFiles(layout, Boolean(flame.callers)), [layout]);
  const painting: Painting = { layout, coloring, files, ...most, matches, selected, hovered, upwards, scale: flame.scale ?? 1 };
  const pointer = useRef<[number, number] | null>(null);
  const under = (): Box | null => {
    if (!pointer.current || !canvas.current) return null;
    const box = canvas.current.getBoundingClientRect(), [x, y] = pointer.current;
    return boxAt(painting, (x - box.left) / box.width, y - box.top + frame.current!.scrollTop);
  };
  const point = (event: MouseEvent | null) => {
    pointer.current = event && [event.clientX, event.clientY];
    setHovered(under());
  };
  // The selected box stays selected when a live capture grows; the pointed-at one is looked up
  // again.
  useEffect(() => {
    setHovered(under());
    setSelected((before) => (before && layout.boxes.find((box) => box.row >= 0 && box.context === before.context && box.block.id === before.block.id && box.depth === before.depth)) || null);
  }, [layout]);
  useLayoutEffect(() => {
    if (canvas.current) paint(canvas.current, painting, frame.current!.scrollTop);
  });
  useEffect(() => {
    const again = () => redraw((n) => n + 1);
    const resized = new ResizeObserver(again);
    resized.observe(frame.current!);
    const off = color.onTheme(again);
    return () => { resized.disconnect(); off(); };
  }, []);
  useLayoutEffect(() => {
    frame.current!.scrollTop = upwards ? frame.current!.scrollHeight : 0;
  }, [upwards, what]);

  const zoom = (box: Box) => go(link(zoomTo(flame, box.row < 0 ? box.parent! : box)));
  const reveal = (box: Box) => {
    const y = yOf(box, painting), view = frame.current!;
    if (y < view.scrollTop) view.scrollTop = y;
    else if (y + ROW > view.scrollTop + view.clientHeight) view.scrollTop = y + ROW - view.clientHeight;
    setSelected(box);
    if (choose && box.row >= 0) choose(box.block);
  };
  const toMatch = (by: number) => {
    const all = layout.boxes.filter((box) => box.row >= 0 && matches?.has(box.block.id)).sort((a, b) => a.x - b.x || a.depth - b.depth);
    if (!all.length) return;
    const now = selected ? all.indexOf(selected) : -1;
    reveal(all[now < 0 ? (by > 0 ? 0 : all.length - 1) : (now + by + all.length) % all.length]);
  };
  const seen = (levels: number) => {
    if (levels > layout.there && layout.there < layout.levels) deeper();
  };
  const key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = selected || layout.root;
    seen(box.depth + LEVELS);
    const outwards = upwards ? "ArrowDown" : "ArrowUp", inwards = upwards ? "ArrowUp" : "ArrowDown";
    if (event.key === outwards) reveal(selected ? box.parent || box : box);
    else if (event.key === inwards) reveal(selected ? box.children[0] || box : box);
    else if (event.key === "ArrowLeft") reveal(neighbour(box, -1));
    else if (event.key === "ArrowRight") reveal(neighbour(box, 1));
    else if (event.key === "Home") reveal(layout.root);
    else if (event.key === "n") toMatch(1);
    else if (event.key === "p") toMatch(-1);
    else if (event.key === "Enter") zoom(box);
    else if (event.key === "Backspace" || event.key === "Escape") {
      if (layout.above.length) go(link(layout.above[layout.above.length - 1].zoom));
    } else if (event.key === "f" && box.block.id && !plain) go(to(place.route, { page: "callers", focus: [box.block.id] }));
    else if (event.key === "d" && box.block.id && !plain) go(dropOf(place, box.block));
    else if (event.key === "c" && box.block.id && !plain)
      go(to(place.route, { page: "flame", focus: [box.block.id], rest: { callers: "1" } }));
    else if (plain || !transformByKey(place, box.block, event.key)) return;
    event.preventDefault();
  };
  // The picture to save: what is drawn, to its full height.
  useEffect(() => {
    if (height) return; // a small one beside the page's own
    const shapes = () => shapesOf(painting, canvas.current!.clientWidth, flame);
    setShapes(shapes);
    return () => unsetShapes(shapes);
  });
  const shown = selected || hovered;
  const tall = layout.levels * ROW;
  return (
    <div class="flame">
      {layout.above.length > 0 && (
        <nav class="above" aria-label="Ancestors of the zoomed box">
          {layout.above.map((one) => (
            <button type="button" onClick={() => go(link(one.zoom))} title="Zoom out to here">
              {fullName(one.block)}<i>{share(one.inclusive, flame.total)}</i>
            </button>
          ))}
        </nav>
      )}
      <div class="boxes" ref={frame} style={{ height: Math.min(tall, height || 1e6) + 2 + "px" }}
        onScroll={() => {
          const view = frame.current!;
          seen((upwards ? tall - view.scrollTop : view.scrollTop + view.clientHeight) / ROW);
          setHovered(under());
          redraw((n) => n + 1);
        }}>
        <div style={{ height: tall + "px" }}>
          <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription="flame graph"
            aria-label={"Flame graph of " + flame.metric + ". Arrow keys move, Enter zooms, Backspace zooms out, n and p go to matches of the search" + (plain ? "." : ", f shows callers and callees, d excludes, c turns it bottom-up.")}
            style={{ height: Math.min(tall, frame.current ? frame.current.clientHeight : innerHeight) + "px" }}
            onMouseMove={point} onMouseLeave={() => point(null)}
            onClick={(event) => {
              point(event);
              const box = under();
              if (!box) return;
              setSelected(box);
              zoom(box);
              if (choose && box.row >= 0) choose(box.block);
            }}
            onKeyDown={key} />
        </div>
      </div>
      {hovered && pointer.current && <Bubble box={hovered} flame={flame} place={place} plain={plain} at={pointer.current} />}
      {coloring === "file" && <FileLegend ranks={files} total={flame.total} />}
      <Details box={shown || layout.root} flame={flame} place={place} plain={plain} />
      <p class="unseen" role="status" aria-live="polite">{selected ? say(selected, flame) : ""}</p>
    </div>
  );
}

// A box's change: of its cost, or of its share of each total.
function changeOf(box: Box, flame: Flame): string {
  const scale = flame.scale ?? 1, shares = scale !== 1 ? share(box.before, flame.before!) + " → " + share(box.inclusive, flame.total) + ", " : "";
  return shares + (box.chance ? "within chance" : change(Math.round(box.before * scale), box.inclusive));
}

// A tooltip at the pointer.
function Bubble({ box, flame, place, plain, at: [x, y] }: { box: Box; flame: Flame; place: Place; plain: boolean; at: [number, number] }) {
  const right = x > innerWidth * 0.6, low = y > innerHeight - 160, { block } = box, zoomed = flame.rows.length ? flame.rows[0][3] : flame.total;
  const style = { ...(right ? { right: innerWidth - x + 10 + "px" } : { left: x + 12 + "px" }), ...(low ? { bottom: innerHeight - y + 10 + "px" } : { top: y + 16 + "px" }) };
  return (
    <div class="bubble fixed" aria-hidden="true" style={style}>
      <b>{fullName(block)}</b>
      <div>total {!plain && block.id > 0 && <Few place={place} value={box.inclusive} />}{figure(box.inclusive, flame.unit)} <span class="dim">{share(box.inclusive, flame.total)}{zoomed !== flame.total ? ", " + share(box.inclusive, zoomed) + " of the zoom" : ""}</span>
        {flame.before !== undefined && <span class="dim"> {changeOf(box, flame)}</span>}</div>
      {!plain && block.id > 0 && <Likely place={place} value={box.inclusive} />}
      {!flame.callers && flame.before === undefined && <div>self {!plain && <Few place={place} value={box.self} />}{figure(box.self, flame.unit)} <span class="dim">{share(box.self, flame.total)}</span></div>}
      {box.calls > 0 && <div>{count(box.calls)} {plain ? (box.calls === 1 ? "span" : "spans") : box.calls === 1 ? "call" : "calls"}</div>}
      {block.file && <div class="dim">{block.file}{block.line ? ":" + block.line : ""}</div>}
    </div>
  );
}

// Boxes of spans and of differences are not contexts: they cannot be focused.
function Details({ box, flame, place, plain }: { box: Box; flame: Flame; place: Place; plain: boolean }) {
  const block: Block = box.block;
  const mine = !plain;
  return (
    <div class="details" data-block={block.id}>
      <strong class="name"><Named block={block} /></strong>
      {block.file && <span class="where">{block.file}{block.line ? ":" + block.line : ""}</span>}
      <dl>
        {flame.before !== undefined && <><dt>before</dt><dd>{figure(box.before, flame.unit)}</dd></>}
        <dt>{flame.before !== undefined ? "after" : "total"}</dt>
        <dd data-what="inclusive" data-value={box.inclusive}>{mine && block.id > 0 && <Few place={place} value={box.inclusive} />}{figure(box.inclusive, flame.unit)} <i>{share(box.inclusive, flame.total)}</i></dd>
        {flame.before !== undefined && <><dt>change</dt><dd data-what="change">{changeOf(box, flame)}</dd></>}
        {!flame.callers && <><dt>self</dt><dd data-what="self" data-value={box.self}>{mine && <Few place={place} value={box.self} />}{figure(box.self, flame.unit)}</dd></>}
        {box.calls > 0 && <><dt>{plain ? "spans" : "calls"}</dt><dd data-what="calls" data-value={box.calls}>{count(box.calls)}</dd></>}
        {box.cycles > 0 && <><dt title="recursive calls, which came back along a cycle">↺</dt><dd>{count(box.cycles)}</dd></>}
      </dl>
      {mine && box.row >= 0 && block.id > 0 && (
        <span class="acts">
          <a href={to(place.route, { page: "callers", focus: [block.id] })}>callers & callees</a>
          <a href={to(place.route, { page: "flame", focus: [block.id], rest: {} })}>focus</a>
          <a href={to(place.route, { page: "flame", focus: [block.id], rest: { callers: "1" } })}>bottom-up</a>
          <a href={dropOf(place, block)}>exclude</a>
          <Transforms block={block} place={place} />
          {block.line > 0 && <a href={sourceOf(place, block)}>source</a>}
        </span>
      )}
    </div>
  );
}
