// SPDX-License-Identifier: MIT
// A flame graph's boxes, laid out. What was too narrow to be sent is a box as well, so that the
// widths below a box add up to what it spends in others.
import { Block } from "./data";

export interface Box {
  row: number; // of the answer; below 0: what is too narrow, of the parent -row - 1
  context: number;
  block: Block;
  inclusive: number;
  self: number;
  calls: number;
  cycles: number;
  before: number;
  narrow: number; // how many contexts below are too narrow to be drawn
  size: number; // what its width stands for
  x: number; // 0 to 1
  width: number;
  depth: number;
  parent: Box | null;
  children: Box[];
  special: boolean; // [folded], [missing]: never hidden
  held: boolean; // it, or one below it, is
}

export interface Flame {
  metric: string;
  unit: string;
  total: number;
  before?: number;
  callers: boolean;
  rows: number[][];
  levels?: number; // there are, where not all of them were asked for
  asked?: number; // of them
  above: number[][];
  zoom: number[]; // the blocks from the root of all down to the first box, that one left out
  blocks: Record<string, Block>;
}

const unknown: Block = { id: 0, name: "?", file: "", line: 0, column: 0 };

export interface Layout {
  boxes: Box[]; // parents before children
  rows: Box[][]; // by depth, from left to right: who draws or points needs those of few
  levels: number; // how many rows there are, those included that were not asked for
  there: number; // how many of them are all there
  above: { zoom: string; block: Block; inclusive: number }[];
  root: Box;
}

export const isSpecial = (name: string): boolean => name === "[folded]" || name === "[missing]";

const none: Box[] = []; // most boxes at the edge have no others below them; never added to

function boxOf(flame: Flame, row: number[], index: number, parent: Box | null): Box {
  const block = flame.blocks[row[2]] || unknown;
  const before = row[9] || 0, special = isSpecial(block.name);
  return {
    row: index, context: row[1], block, inclusive: row[3], self: row[4], calls: row[5],
    cycles: row[6], narrow: row[7], before, size: Math.max(row[3], before), x: NaN, width: NaN, // fractions, from the first on
    depth: parent ? parent.depth + 1 : 0, parent, children: none, special, held: special,
  };
}

function add(parent: Box, child: Box): void {
  if (parent.children === none) parent.children = [child];
  else parent.children.push(child);
}

// What a box has in others that are too narrow, as one.
function restOf(flame: Flame, box: Box): Box {
  const size = flame.rows[box.row][8];
  return {
    row: -box.row - 1, context: box.context, block: { ...unknown, name: box.narrow + " more" }, inclusive: size, self: 0, calls: 0,
    cycles: 0, narrow: box.narrow, before: 0, size, x: NaN, width: NaN,
    depth: box.depth + 1, parent: box, children: none, special: false, held: false,
  };
}

const LEAST = 0.006; // of all, for what is never hidden

// Children side by side, as wide as they cost. What is never hidden takes from the others what it
// needs to be seen.
function placeBelow(box: Box): void {
  let sum = 0, held = 0;
  for (const child of box.children) {
    sum += child.size;
    if (child.held) held++;
  }
  const whole = Math.max(box.size, sum) || 1, least = held ? Math.min(LEAST, box.width / 2 / held) : 0;
  let added = 0, others = 0, x = box.x;
  for (const child of box.children) {
    child.width = (box.width * child.size) / whole;
    if (child.held && child.width < least) {
      added += least - child.width;
      child.width = least;
    } else others += child.width;
  }
  const free = Math.max(0, box.width * (1 - sum / whole)), shrink = added > free ? Math.max(0, others - (added - free)) / (others || 1) : 1;
  for (const child of box.children) {
    if (!(child.held && child.width <= least)) child.width *= shrink;
    child.x = x;
    x += child.width;
  }
}

function rowsBelow(root: Box): Box[][] {
  const rows: Box[][] = [];
  for (let row = [root]; row.length; ) {
    rows.push(row);
    const next: Box[] = [];
    for (const box of row) for (const child of box.children) next.push(child);
    row = next;
  }
  return rows;
}

const bySize = (a: Box, b: Box): number => b.size - a.size || a.context - b.context;

// A box as it stands in an address: by the blocks of its path, since contexts are numbered anew in
// each part, metric and page. What would be too long for an address is there by its number, "c12".
const LONGEST = 6000;

function spell(path: number[], context: number): string {
  const text = path.join(".");
  return text.length <= LONGEST ? text : "c" + context;
}

export function zoomTo(flame: Flame, box: Box): string {
  const path: number[] = [];
  for (let at: Box | null = box; at && at.parent; at = at.parent) if (at.row >= 0) path.unshift(flame.rows[at.row][2]);
  return spell([...flame.zoom, ...path], box.context);
}

export function layOut(flame: Flame): Layout {
  const boxes: Box[] = [];
  for (let i = 0; i < flame.rows.length; i++) {
    const row = flame.rows[i];
    const parent = row[0] < 0 ? null : boxes[row[0]];
    const box = boxOf(flame, row, i, parent);
    boxes.push(box);
    if (parent) add(parent, box);
  }
  const count = boxes.length, root = boxes[0];
  for (let i = count - 1; i > 0; i--) if (boxes[i].held) boxes[i].parent!.held = true;
  root.x = 0;
  root.width = 1;
  // Parents come first: where each is is known before its children are placed.
  for (let i = 0; i < count; i++) {
    const box = boxes[i];
    if (box.children.length > 1) box.children.sort(bySize);
    if (box.narrow) {
      const rest = restOf(flame, box);
      add(box, rest);
      boxes.push(rest);
    }
    if (box.children !== none) placeBelow(box);
  }
  const rows = rowsBelow(root), levels = Math.max(rows.length, flame.levels || 0);
  return {
    boxes, rows, levels, there: flame.asked && flame.asked < levels ? flame.asked : levels,
    above: flame.above.map(([context, block, inclusive], i) => ({
      zoom: spell(flame.zoom.slice(0, flame.zoom.length - flame.above.length + i), context), block: flame.blocks[block] || unknown, inclusive,
    })),
    root,
  };
}
