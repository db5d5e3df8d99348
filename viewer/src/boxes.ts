// SPDX-License-Identifier: MIT
// Lays out a flame graph's boxes. The boxes that the server left out as too narrow become one box,
// so that the widths of a box's children add up.
import { Block } from "./data";

export interface Box {
  row: number; // index in the answer; negative: stands for the left-out children of row -(row + 1)
  context: number;
  block: Block;
  inclusive: number;
  self: number;
  calls: number;
  cycles: number;
  before: number; // cost before, of a difference
  chance: boolean; // the difference can be caused by sampling
  narrow: number; // number of contexts below that are too narrow to draw
  size: number; // cost that gives the width
  x: number; // 0 to 1
  width: number;
  depth: number;
  parent: Box | null;
  children: Box[];
  special: boolean; // [folded], [missing]: never hidden
  held: boolean; // it or a descendant is special
}

export interface Flame {
  metric: string;
  unit: string;
  total: number;
  before?: number;
  scale?: number; // of a difference: costs before are multiplied by this to compare them
  callers: boolean;
  rows: number[][];
  levels?: number; // number of levels, if not all were requested
  asked?: number; // number of levels that were requested
  above: number[][];
  zoom: number[]; // blocks from the root to the first box, without the root
  blocks: Record<string, Block>;
}

const unknown: Block = { id: 0, name: "?", file: "", line: 0, column: 0 };

export interface Layout {
  boxes: Box[]; // parents before children
  rows: Box[][]; // by depth, from left to right
  levels: number; // number of rows, including those that were not requested
  there: number; // number of complete rows
  above: { zoom: string; block: Block; inclusive: number }[];
  root: Box;
}

export const isSpecial = (name: string): boolean => name === "[folded]" || name === "[missing]";

const none: Box[] = []; // shared by boxes without children; never modified

function boxOf(flame: Flame, row: number[], index: number, parent: Box | null): Box {
  const block = flame.blocks[row[2]] || unknown;
  const before = row[9] || 0, special = isSpecial(block.name);
  return {
    row: index, context: row[1], block, inclusive: row[3], self: row[4], calls: row[5],
    // x and width are set by placeBelow
    cycles: row[6], narrow: row[7], before, chance: Boolean(row[10]), size: Math.max(row[3], before * (flame.scale ?? 1)), x: NaN, width: NaN,
    depth: parent ? parent.depth + 1 : 0, parent, children: none, special, held: special,
  };
}

function add(parent: Box, child: Box): void {
  if (parent.children === none) parent.children = [child];
  else parent.children.push(child);
}

// Returns one box for all children that were left out as too narrow.
function restOf(flame: Flame, box: Box): Box {
  const size = flame.rows[box.row][8];
  return {
    row: -box.row - 1, context: box.context, block: { ...unknown, name: box.narrow + " more" }, inclusive: size, self: 0, calls: 0,
    cycles: 0, narrow: box.narrow, before: 0, chance: false, size, x: NaN, width: NaN,
    depth: box.depth + 1, parent: box, children: none, special: false, held: false,
  };
}

const LEAST = 0.006; // least width of special boxes, as a share of the picture

// Places children side by side, in proportion to their costs. Special boxes are widened to be
// visible, at the expense of the others.
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

// Writes a box for the address: as the blocks of its path, because contexts have other numbers in
// each part, metric and page. A path that is too long is written as its number, "c12".
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
  // Parents come first, so a box is placed before its children.
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
