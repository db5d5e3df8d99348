// SPDX-License-Identifier: MIT
// Answers about spans and sources in a page without a server: cut out of answers that the server
// stored in the page, at a limited level of detail. Questions beyond that are errors.
import { Items } from "./data";

const SHOW = "cairn view on the capture shows them";

export class NotStored extends Error {
  constructor(what: string) {
    super("This page does not have " + what + "; " + SHOW + ".");
  }
}

const one = (items: Items, key: string): string => items.find(([k, v]) => k === key && v)?.[1] || "";
const block = (items: Items, key: string): string => one(items, key).replace("#", "");

// Throws if iterations are chosen: their spans are not stored.
function whole(items: Items): void {
  if (one(items, "of")) throw new NotStored("spans of chosen iterations");
}

// Returns the bars in the requested window and lanes.
function timeline(all: any, items: Items): any {
  whole(items);
  const from = Number(one(items, "from") || 0), to = Math.max(from + 1, Number(one(items, "to") || all.to));
  const first = Number(one(items, "lane") || 0), last = first + Number(one(items, "lanes") || 256);
  const at = Object.fromEntries(all.columns.map((name: string, i: number) => [name, i]));
  const bars = all.bars.filter((bar: number[]) =>
    bar[at.lane] >= first && bar[at.lane] < last && bar[at.start] < to && bar[at.end] >= from);
  const arrows = all.arrows.filter((arrow: any) => Math.min(arrow.left, arrow.arrives) < to && Math.max(arrow.left, arrow.arrives) >= from);
  const entire = from <= 0 && to >= all.to, kind = (name: string) => arrows.filter((arrow: any) => arrow.kind === name).length;
  const counts = entire ? all.counts : {
    spans: bars.reduce((sum: number, bar: number[]) => sum + bar[at.count], 0), handoffs: kind("handoff"), waits: kind("waits"), follows: kind("follows"),
  };
  return { ...all, from, to, bars, arrows, counts, sent: true };
}

function spans(all: any, items: Items): any {
  const of = block(items, "block"), top = Number(one(items, "top") || 30) || Infinity;
  if (one(items, "view") === "missing") {
    if (of) throw new NotStored("missing time of single blocks");
    return { ...all.missing, gaps: all.missing.gaps.slice(0, top) };
  }
  if (one(items, "view") === "slowest") {
    const found = of ? all.slowest_of[of] : all.slowest;
    if (!found) throw new NotStored("the slowest spans of blocks with little time");
    return { ...found, slowest: found.slowest.slice(0, top) };
  }
  const by = one(items, "sort") || "total";
  const rows = all.spans.blocks.filter((row: any) => !of || String(row.block.id) === of);
  rows.sort((a: any, b: any) => b[by] - a[by] || a.block.id - b.block.id);
  return { ...all.spans, hidden: Math.max(0, rows.length - top), blocks: rows.slice(0, top) };
}

// Returns the row at the end of a path of blocks, or the last one that exists. Parents come first.
function follow(rows: number[][], path: string): number {
  const wanted = path.split(".").filter(Boolean).map(Number);
  let at = 0;
  for (let i = 1; i < rows.length && wanted.length; i++)
    if (rows[i][0] === at && rows[i][2] === wanted[0]) {
      at = i;
      wanted.shift();
    }
  return at;
}

// Returns a box and its descendants, like the server's answer for that root.
function flame(all: any, items: Items): any {
  whole(items);
  const root = Number(one(items, "root") || 0), zoom = one(items, "zoom");
  const place = zoom ? follow(all.rows, zoom) : all.rows.findIndex((row: number[]) => row[1] === root);
  if (place <= 0) return all;
  const numbers = new Map([[place, 0]]), rows = [[-1, ...all.rows[place].slice(1)]];
  for (let i = place + 1; i < all.rows.length; i++) {
    const above = numbers.get(all.rows[i][0]);
    if (above === undefined) continue;
    numbers.set(i, rows.length);
    rows.push([above, ...all.rows[i].slice(1)]);
  }
  const above = [], path = [];
  for (let at = place; at > 0; at = all.rows[at][0]) {
    above.unshift(all.rows[all.rows[at][0]].slice(1, 4));
    path.unshift(all.rows[at][2]);
  }
  return { ...all, rows, above, zoom: path };
}

function ofBlock(answers: any, first: number, wanted: string, what: string): any {
  const found = answers[wanted || first];
  if (!found) throw new NotStored(what + " of blocks with little time");
  return found;
}

export class StoredAnswers {
  constructor(private all: any) {}

  get count(): number {
    return this.all.count || 0;
  }

  // Returns undefined if the question is not about spans.
  answer(route: string, items: Items): any {
    const { all } = this;
    switch (route) {
      case "timeline": return timeline(all.timeline, items);
      case "counters": return all.counters;
      case "moments": return all.moments;
      case "spans": whole(items); return spans(all, items);
      case "span-flame": return flame(all["span-flame"], items);
      case "iterations": return ofBlock(all.iterations, all.first, one(items, "of"), "iterations");
      case "explain": whole(items); return ofBlock(all.explain, all.first, one(items, "block"), "causes");
      case "latency": throw new NotStored("end-to-end latencies");
      case "whatif": throw new NotStored("the data for what-if");
      case "span": {
        const found = all.span[one(items, "id")];
        if (!found || one(items, "chosen")) throw new NotStored("the details of this span");
        return found;
      }
      default: return undefined;
    }
  }

  source(file: string): { lines: string[] | null; reason?: string } {
    const text: string | undefined = this.all.sources[file];
    if (text === undefined) return { lines: null, reason: "the file was missing or too large when this page was made" };
    return { lines: text.replace(/\n$/, "").split("\n") };
  }
}
