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
  above: number[][];
  blocks: Record<string, Block>;
}

const unknown: Block = { id: 0, name: "?", file: "", line: 0, column: 0 };

export interface Layout {
  boxes: Box[]; // parents before children
  above: { context: number; block: Block; inclusive: number }[];
  root: Box;
  depth: number;
}

export const isSpecial = (name: string): boolean => name === "[folded]" || name === "[missing]";

function boxOf(flame: Flame, row: number[], index: number, parent: Box | null): Box {
  const block = flame.blocks[row[2]] || unknown;
  const before = row[9] || 0;
  return {
    row: index, context: row[1], block, inclusive: row[3], self: row[4], calls: row[5],
    cycles: row[6], narrow: row[7], before, size: Math.max(row[3], before), x: 0, width: 0,
    depth: parent ? parent.depth + 1 : 0, parent, children: [], special: isSpecial(block.name), held: isSpecial(block.name),
  };
}

const LEAST = 0.006; // of all, for what is never hidden

// Children side by side, as wide as they cost. What is never hidden takes from the others what it
// needs to be seen.
function place(root: Box): void {
  const pending = [root];
  while (pending.length) {
    const box = pending.pop()!;
    const sum = box.children.reduce((all, child) => all + child.size, 0);
    const whole = Math.max(box.size, sum) || 1, held = box.children.filter((child) => child.held).length;
    const least = held ? Math.min(LEAST, box.width / 2 / held) : 0;
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
      pending.push(child);
    }
  }
}

export function layOut(flame: Flame): Layout {
  const boxes: Box[] = [];
  for (let i = 0; i < flame.rows.length; i++) {
    const row = flame.rows[i];
    const parent = row[0] < 0 ? null : boxes[row[0]];
    const box = boxOf(flame, row, i, parent);
    boxes.push(box);
    if (parent) parent.children.push(box);
  }
  for (const box of [...boxes].reverse()) if (box.held && box.parent) box.parent.held = true;
  const root = boxes[0];
  root.width = 1;
  let depth = 1;
  const narrow: Box[] = [];
  for (const box of boxes) {
    box.children.sort((a, b) => b.size - a.size || a.context - b.context);
    if (box.narrow) {
      const rest: Box = {
        ...box, row: -box.row - 1, size: flame.rows[box.row][8], inclusive: flame.rows[box.row][8],
        self: 0, calls: 0, cycles: 0, children: [], parent: box, depth: box.depth + 1,
        special: false, held: false, before: 0,
        block: { ...unknown, name: box.narrow + " more" },
      };
      box.children.push(rest);
      narrow.push(rest);
    }
    depth = Math.max(depth, box.depth + 1 + (box.narrow ? 1 : 0));
  }
  place(root);
  return {
    boxes: boxes.concat(narrow),
    above: flame.above.map(([context, block, inclusive]) => ({
      context, block: flame.blocks[block] || unknown, inclusive,
    })),
    root, depth,
  };
}
