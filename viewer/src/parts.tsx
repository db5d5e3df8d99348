// SPDX-License-Identifier: MIT
// Components of several pages.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Block, File, ask, fullName } from "./data";
import { base, figure, share } from "./format";
import { Route, Transform, TransformKind, go, to } from "./route";
import { likelyOf } from "./sampling";

export interface Place {
  route: Route;
  files: File[];
  file: File;
  unit: string; // of the metric
  metric: string;
}

// False if a file's functions were sampled, and calls not counted.
export const callsCounted = (file: File): boolean => file.metrics.some((one) => one.name === "calls");

export function Problem({ text }: { text: string }) {
  return <p class="problem" role="alert">{text}</p>;
}

export function Waiting({ what }: { what: string }) {
  return <p class="loading" role="status">{what}…</p>;
}

// A name with its enclosing blocks in a muted colour.
export const Named = ({ block }: { block: Block }) =>
  block.within ? <><span class="outer">{block.within}.</span>{block.name}</> : <>{block.name}</>;

// A function's name as a link to its callers and callees.
export function BlockName({ block, place, focus }: { block: Block; place: Place; focus?: number[] }) {
  const where = block.file ? base(block.file) + (block.line ? ":" + block.line : "") : "";
  return (
    <span class="block">
      {block.id === 0 ? (
        <span class="name"><Named block={block} /></span>
      ) : (
        <a class="name" href={to(place.route, { page: "callers", focus: focus || [block.id] })}>
          <Named block={block} />
        </a>
      )}
      {where && block.line > 0 ? (
        <a class="where" title={block.file} href={sourceOf(place, block)}>{where}</a>
      ) : (
        where && <span class="where">{where}</span>
      )}
    </span>
  );
}

export const sourceOf = (place: Place, block: Block): string =>
  to(place.route, { page: "source", rest: { block: String(block.id) } });

export const dropOf = (place: Place, block: Block, page?: string): string =>
  to(place.route, {
    page: page || place.route.page,
    drops: [...place.route.drops.filter((d) => d.join() !== String(block.id)), [block.id]],
    rest: page ? {} : place.route.rest,
  });

export function Drop({ block, place }: { block: Block; place: Place }) {
  if (block.id === 0) return null;
  return (
    <a class="act" data-act="drop" href={dropOf(place, block)} title={"Leave out all paths through " + block.name}
      aria-label={"Exclude " + block.name}>
      exclude
    </a>
  );
}

// Returns a page's state without the place that it shows: a place in the profile before a
// transform.
export const withoutPlace = (rest: Record<string, string>): Record<string, string> => {
  const { zoom, root, fn, top, ...others } = rest;
  return others;
};

const transformWords: Record<TransformKind, [string, string, string]> = {
  merge: ["m", "merge into callers", "merged"],
  collapse: ["x", "collapse with callees", "collapsed"],
  "merge-file": ["M", "merge the file", "merged file"],
  "collapse-file": ["X", "collapse the file", "collapsed file"],
  "focus-file": ["F", "focus on the file", "only file"],
};

export const transformText = ({ kind, block }: Transform, its?: Block): string =>
  transformWords[kind][2] + " " + (!its ? "#" + block : kind.endsWith("-file") ? base(its.file) || its.name : fullName(its));

export const transformOf = (place: Place, block: Block, kind: TransformKind): string => {
  const text = kind + ":#" + block.id, { transforms, focus } = place.route, gone = kind.startsWith("merge");
  return to(place.route, {
    transforms: [...transforms.filter((one) => one !== text), text],
    focus: gone ? focus.filter((id) => id !== block.id) : focus,
    rest: withoutPlace(place.route.rest),
  });
};

// Transforms the profile by a block as the key says. Returns false if no transform has the key, or
// the block lacks a file for it.
export function transformByKey(place: Place, block: Block, key: string): boolean {
  const found = (Object.keys(transformWords) as TransformKind[]).find((kind) => transformWords[kind][0] === key);
  if (!found || !block.id || (found.endsWith("-file") && !block.file)) return false;
  go(transformOf(place, block, found));
  return true;
}

// A menu of transforms of the paths by a function or its file.
export function Transforms({ block, place }: { block: Block; place: Place }) {
  if (!block.id) return null;
  return (
    <select class="act" data-act="transform" aria-label={"Simplify paths with " + block.name} value=""
      onChange={(event) => { const kind = event.currentTarget.value as TransformKind; event.currentTarget.value = ""; if (kind) go(transformOf(place, block, kind)); }}>
      <option value="">simplify…</option>
      {(Object.keys(transformWords) as TransformKind[]).filter((kind) => block.file || !kind.endsWith("-file"))
        .map((kind) => <option value={kind}>{transformWords[kind][1]}</option>)}
    </select>
  );
}

export function Focus({ block, place, page, text }: { block: Block; place: Place; page: string; text: string }) {
  if (block.id === 0) return null;
  return (
    <a class="act" href={to(place.route, { page, focus: [block.id] })} aria-label={text + " " + block.name}>
      {text}
    </a>
  );
}

const likelyText = (interval: [number, number], unit: string): string => "95 % interval: " + figure(interval[0], unit) + " to " + figure(interval[1], unit);

// The mark of an uncertain figure.
export function Few({ place, value }: { place: Place; value: number }) {
  const interval = likelyOf(place, value);
  return interval ? <i class="likely" title={likelyText(interval, place.unit)}>~</i> : null;
}

// The interval of an uncertain figure, in words.
export function Likely({ place, value }: { place: Place; value: number }) {
  const interval = likelyOf(place, value);
  return interval ? <div class="dim">{likelyText(interval, place.unit)}</div> : null;
}

interface Measured { lines: { label: string; text: string }[]; functions: number; }

const measured = new Map<string, Measured>(); // by file and generation

// Returns how the file's figures were measured.
export function useMeasured(place: Place): Measured | null {
  const key = place.file.path + " " + place.file.generation, [, draw] = useState(0);
  useEffect(() => {
    let over = false;
    if (measured.has(key)) return;
    ask("measured", [["file", String(place.route.file)]]).then((its: Measured) => {
      measured.set(key, its);
      if (!over) draw((n) => n + 1);
    }, () => {});
    return () => { over = true; };
  }, [key]);
  return measured.get(key) || null;
}

// Sentences on the way in which the figures were measured, and on reading them.
export function Strip({ place }: { place: Place }) {
  const its = useMeasured(place), sampled = place.file.metrics.find((one) => one.name === place.metric)?.sampling;
  if (!its) return null;
  const shown = its.lines.filter((line) => line.text);
  return (
    <footer class="strip" data-what="measured" aria-label="How the figures were measured">
      {shown.map(({ label, text }) => <span data-line={label}><b>{label}</b> {text}</span>)}
      <span><b>reading</b> {sampled?.kernel_ticks ? "samples come at the kernel's ticks: no figure has a 95 % interval" : sampled ? "~ is a figure of fewer than 100 samples: point at it for its 95 % interval" : "figures without ~ are exact or rest on at least 100 samples"}</span>
    </footer>
  );
}

// A figure with its share of the whole as a bar behind it.
export function Cost({ value, whole, unit, what, interval }: {
  value: number; whole: number; unit: string; what: string; interval?: [number, number];
}) {
  const part = whole ? Math.min(1, value / whole) : 0;
  return (
    <td class="cost" data-what={what} data-value={value} title={interval && likelyText(interval, unit)}>
      <span class="bar" style={{ width: (100 * part).toFixed(2) + "%" }} aria-hidden="true" />
      <span class="value">{interval && value ? <i class="likely">~</i> : null}{value ? figure(value, unit) : "–"}</span>
      <span class="share">{value ? share(value, whole) : ""}</span>
    </td>
  );
}

export function Figure({ value, unit, what }: { value: number; unit: string; what: string }) {
  return <td class="figure" data-what={what} data-value={value}>{value ? figure(value, unit) : "–"}</td>;
}

export function Card({ title, children, note }: { title: string; children: ComponentChildren; note?: ComponentChildren }) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}{note ? <small>{note}</small> : null}</h2>
      {children}
    </section>
  );
}

// Visible rows are rendered first, the others after a pause. html[data-rest] shows scripts how many
// lists still lack rows.
const LEAST = 22, PAUSE = 80; // height of a row in pixels; ms
const roomFor = (): number => Math.ceil(innerHeight / LEAST);
let rests = 0;
const tell = (by: number): void => void (document.documentElement.dataset.rest = String((rests += by)));

export function useFirst<T>(rows: T[]): T[] {
  const [all, setAll] = useState<T[] | null>(null), first = roomFor();
  useLayoutEffect(() => {
    if (rows.length <= first || all === rows) return;
    tell(1);
    const timer = setTimeout(() => setAll(rows), PAUSE);
    return () => { tell(-1); clearTimeout(timer); };
  }, [rows, all]);
  return all === rows ? rows : rows.slice(0, first);
}
