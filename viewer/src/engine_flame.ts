// SPDX-License-Identifier: MIT
// Parts of a profile as trees of their own, and the boxes of their flame graphs. Names and meanings
// follow src/profile and cli/view/flame.c.
import { Block } from "./data";
import { Edge, Kept, PairTable, Profile, Query, matcher, select, totalsOf, withinOf } from "./profile";

export interface Part { profile: Profile; kept: Kept; totals: Float64Array; metric: string; }

const FIRST = 1 << 10;

// Builds paths in canonical form (graph/graph.c): a repetition leads back to its begin.
class Tree {
  count = 1;
  parent = new Uint32Array(FIRST);
  block = new Uint32Array(FIRST);
  calls = new Float64Array(FIRST);
  value = new Float64Array(FIRST);
  edges: Edge[] = [];
  private ways = new PairTable();
  private children: number[] = []; // by pair of parent and block
  // Returns the context to which a call of `block` from `at` leads; a new one if needed.
  child(at: number, block: number, canonical: boolean): number {
    const way = this.ways.add(at, block);
    if (way < this.children.length) return this.children[way];
    let to = canonical ? this.repeats(at, block) : -1;
    if (to < 0) to = this.append(at, block);
    this.children.push(to);
    return to;
  }
  append(at: number, block: number): number {
    if (this.count === this.parent.length) this.grow();
    this.parent[this.count] = at;
    this.block[this.count] = block;
    return this.count++;
  }
  private grow(): void {
    const { parent, block, calls, value } = this, size = 2 * this.count;
    (this.parent = new Uint32Array(size)).set(parent);
    (this.block = new Uint32Array(size)).set(block);
    (this.calls = new Float64Array(size)).set(calls);
    (this.value = new Float64Array(size)).set(value);
  }
  // If the path with `block` ends with two equal halves, returns the context at the end of the first; else -1.
  repeats(at: number, block: number): number {
    for (let c = at, k = 1; c; c = this.parent[c], k++)
      if (this.block[c] === block && this.isTwice(at, c, k)) return c;
    return -1;
  }
  // Returns true if the last k - 1 blocks from `at` equal those from `from`, k levels up.
  private isTwice(at: number, from: number, k: number): boolean {
    for (let i = 1; i < k; i++) {
      from = this.parent[from];
      if (!from || this.block[at] !== this.block[from]) return false;
      at = this.parent[at];
    }
    return true;
  }
  profile(of: Profile, metric: string): Profile {
    const { count, edges } = this, calls = this.calls.subarray(0, count), values: Record<string, Float64Array> = { calls: calls.slice() };
    if (metric !== "calls") values[metric] = this.value.subarray(0, count);
    return { count, blocks: of.blocks, parent: this.parent.subarray(0, count), block: this.block.subarray(0, count), callsTree: calls, edges, values };
  }
  charge(at: number, metric: string, amount: number): void {
    if (metric === "calls") this.calls[at] += amount;
    else this.value[at] += amount;
  }
}

function below(profile: Profile, query: Query, kept: Kept): Profile {
  const { metric, focus } = query, within = withinOf(profile, matcher(profile, focus));
  const tree = new Tree(), made = new Uint32Array(profile.count);
  let tip = 0;
  for (const b of focus.slice(0, -1)) if (b) tip = tree.child(tip, b, false);
  for (let c = 0; c < profile.count; c++) {
    if (!within[c]) continue;
    const top = !c || !within[profile.parent[c]];
    made[c] = c ? tree.child(top ? tip : made[profile.parent[c]], profile.block[c], false) : 0;
    if (kept && !kept[c]) continue;
    tree.calls[made[c]] += profile.callsTree[c];
    if (metric !== "calls") tree.value[made[c]] += profile.values[metric][c];
  }
  const calls = tree.calls.slice(0, tree.count);
  for (const edge of profile.edges) {
    if (!within[edge.from] || !within[edge.target] || (kept && !kept[edge.target])) continue;
    tree.edges.push({ ...edge, from: made[edge.from], target: made[edge.target] });
    calls[made[edge.target]] += edge.calls;
  }
  const result = tree.profile(profile, metric);
  result.values.calls = calls;
  return result;
}

// Limits on levels of callers: of a focused sequence, and bottom-up. Bottom-up, the least cost that
// is followed is the total divided by PARTS.
const ABOVE = 64, UPWARDS = 256, PARTS = 20000;

function above(profile: Profile, query: Query, kept: Kept): Profile {
  const { metric, focus } = query, m = matcher(profile, focus), within = withinOf(profile, m);
  const totals = totalsOf(profile, metric, kept), tree = new Tree();
  const charge = (from: number, c: number, what: string, amount: number) => {
    for (let i = 0; i < ABOVE && c; i++, c = profile.parent[c]) from = tree.child(from, profile.block[c], true);
    tree.charge(from, what, amount);
  };
  for (let c = 1; c < profile.count; c++) {
    if (m.states[c] !== m.length || (kept && !kept[c])) continue;
    if (!within[profile.parent[c]] && metric !== "calls") charge(0, c, metric, totals[c]);
    if (profile.callsTree[c]) charge(0, c, "calls", profile.callsTree[c]);
  }
  for (const edge of profile.edges) {
    const b = profile.block[edge.target];
    if (m.step(m.states[edge.from], b) !== m.length || (kept && !kept[edge.target])) continue;
    charge(tree.child(0, b, true), edge.from, "calls", edge.calls);
  }
  return tree.profile(profile, metric);
}

// Contexts whose costs climb towards the root together: they share the path below. Each has its block
// beside it, because contexts of a later stream lie far apart in memory.
interface Stream { contexts: Uint32Array; kinds: Uint32Array; amounts: Float64Array; node: number; depth: number; }

const NOWHERE = 0xffffffff;

// Splits streams by the block of their contexts.
class Splitter {
  private counts: Uint32Array;
  private ends: Uint32Array;
  private costs: Float64Array;
  private ranges = new Map<number, [number, number]>(); // by split node: its children
  private known = new Map<number, Map<number, number>>(); // by node that is split again: children by block
  constructor(private of: Profile, private tree: Tree, private metric: string, private least: number) {
    const blocks = of.blocks.length;
    this.counts = new Uint32Array(blocks);
    this.ends = new Uint32Array(blocks);
    this.costs = new Float64Array(blocks);
  }

  // Returns the children of a node that was split before, by block; null if it was not split.
  private knownOf(node: number): Map<number, number> | null {
    const range = this.ranges.get(node);
    if (!range) return null;
    let its = this.known.get(node);
    if (its) return its;
    this.known.set(node, (its = new Map()));
    for (let c = range[0]; c < range[1]; c++) its.set(this.tree.block[c], c);
    return its;
  }

  // As Tree.child, but only a node that is split again needs a look-up.
  private child(node: number, b: number, known: Map<number, number> | null): number {
    const loop = this.tree.repeats(node, b);
    if (loop >= 0) return loop;
    let its = known ? known.get(b) : undefined;
    if (its === undefined) {
      its = this.tree.append(node, b);
      if (known) known.set(b, its);
    }
    return its;
  }

  // Appends a stream of callers for each block; cheap ones end here. Contexts of a stream have the
  // same block, so that no two of them have the same parent.
  split({ contexts, kinds, amounts, node, depth }: Stream, streams: Stream[]): void {
    const { counts, costs, ends } = this, found: number[] = [], count = contexts.length;
    for (let i = 0; i < count; i++) {
      const b = kinds[i];
      if (counts[b]++ === 0) { found.push(b); costs[b] = 0; }
      costs[b] += amounts[i];
    }
    const least = depth + 1 >= UPWARDS ? Infinity : this.least, known = this.knownOf(node), begin = this.tree.count;
    let room = 0;
    for (const b of found) {
      const follows = b > 0 && costs[b] >= least;
      ends[b] = follows ? (room += counts[b]) - counts[b] : NOWHERE;
    }
    const those = new Uint32Array(room), their = new Uint32Array(room), shares = new Float64Array(room);
    for (let i = 0; i < count && room; i++) {
      const at = ends[kinds[i]];
      if (at === NOWHERE) continue;
      const above = this.of.parent[contexts[i]];
      ends[kinds[i]]++;
      those[at] = above;
      their[at] = this.of.block[above];
      shares[at] = amounts[i];
    }
    for (const b of found) {
      const child = b ? this.child(node, b, known) : node, to = ends[b], from = to - counts[b];
      counts[b] = 0;
      if (to === NOWHERE) this.tree.charge(child, this.metric, costs[b]);
      else streams.push({ contexts: those.subarray(from, to), kinds: their.subarray(from, to), amounts: shares.subarray(from, to), node: child, depth: depth + 1 });
    }
    if (!known) this.ranges.set(node, [begin, this.tree.count]);
  }
}

function upsideDown(profile: Profile, query: Query, kept: Kept): Profile {
  const { metric } = query, tree = new Tree(), values = profile.values[metric], { block } = profile;
  const least = totalsOf(profile, metric, null)[0] / PARTS, splitter = new Splitter(profile, tree, metric, least);
  const contexts = new Uint32Array(profile.count), kinds = new Uint32Array(profile.count), amounts = new Float64Array(profile.count);
  let count = 0;
  for (let c = 0; c < profile.count; c++)
    if (values[c] && (!kept || kept[c])) {
      contexts[count] = c;
      kinds[count] = block[c];
      amounts[count++] = values[c];
    }
  const streams: Stream[] = [{ contexts: contexts.subarray(0, count), kinds: kinds.subarray(0, count), amounts: amounts.subarray(0, count), node: 0, depth: 0 }];
  for (let stream = streams.pop(); stream; stream = streams.pop()) splitter.split(stream, streams);
  return tree.profile(profile, metric);
}

export function part(profile: Profile, query: Query, callers: boolean): Part {
  const kept = select(profile, [], query.drops);
  const made = callers ? (query.focus.length ? above(profile, query, kept) : upsideDown(profile, query, kept))
    : query.focus.length ? below(profile, query, kept) : null;
  const shown = made || profile;
  return { profile: shown, kept: made ? null : kept, totals: totalsOf(shown, query.metric, made ? null : kept), metric: query.metric };
}

const DEPTH = 512, ROWS = 60000;

// Boxes to choose from, in columns, because there can be many more than are written.
class Boxes {
  count = 0;
  above = new Int32Array(ROWS);
  context = new Uint32Array(ROWS);
  depth = new Uint16Array(ROWS);
  cycles = new Float64Array(ROWS);
  narrow = new Uint32Array(ROWS);
  narrowCost = new Float64Array(ROWS);

  // Returns the box's number.
  put(context: number, above: number): number {
    const i = this.count++;
    this.above[i] = above;
    this.context[i] = context;
    this.depth[i] = above < 0 ? 0 : this.depth[above] + 1;
    return i;
  }

  deepest(): number {
    let all = 0;
    for (let i = 0; i < this.count; i++) all = Math.max(all, this.depth[i] + (this.narrow[i] ? 2 : 1));
    return all;
  }

  // Returns for each box 1 + its number in the answer, or 0 if it is left out: deeper than
  // `levels`, and neither special nor an ancestor of a special box.
  numbers(levels: number, isShown: (c: number) => boolean): Uint32Array {
    const numbers = new Uint32Array(this.count);
    for (let i = this.count - 1; i >= 0; i--) {
      if (this.depth[i] < levels || isShown(this.context[i])) numbers[i] = 1;
      if (numbers[i] && i) numbers[this.above[i]] = 1;
    }
    for (let i = 0, number = 0; i < this.count; i++) if (numbers[i]) numbers[i] = ++number;
    return numbers;
  }
}

// Returns the context at the end of a path of blocks, or the last one that exists.
function follow({ profile, totals }: Part, path: number[]): number {
  let at = 0, i = 0;
  for (let c = 1; c < profile.count && i < path.length; c++)
    if (profile.parent[c] === at && profile.block[c] === path[i] && totals[c]) {
      at = c;
      i++;
    }
  return at;
}

// Returns by context 1 if it is special or an ancestor of a special one.
function heldOf(profile: Profile, root: number, isShown: (c: number) => boolean): Uint8Array {
  const held = new Uint8Array(profile.count);
  for (let c = profile.count - 1; c > root; c--) if (held[c] || isShown(c)) held[c] = held[profile.parent[c]] = 1;
  return held;
}

export function flame(its: Part, query: Query, start: number, zoom: number[], width: number, callers: boolean, levels: number) {
  const { profile, totals, kept } = its, root = zoom.length ? follow(its, zoom) : start;
  if (root >= profile.count) throw new Error("there is no context " + root);
  const least = Math.floor(totals[root] / width), rowOf = new Int32Array(profile.count), boxes = new Boxes();
  const always = profile.blocks.map((b) => /^\[(folded|missing)\]$/.test(b.name)), special = (c: number) => always[profile.block[c]];
  const held = always.includes(true) ? heldOf(profile, root, (c) => special(c) && totals[c] > 0) : null;
  const used: Record<string, Block> = {};
  rowOf[root] = 1 + boxes.put(root, -1);
  for (let c = root + 1; c < profile.count; c++) {
    const at = rowOf[profile.parent[c]] - 1;
    if (at < 0 || !totals[c]) continue;
    if ((totals[c] >= least || (held && held[c])) && boxes.count < ROWS && boxes.depth[at] < DEPTH) rowOf[c] = 1 + boxes.put(c, at);
    else {
      boxes.narrow[at]++;
      boxes.narrowCost[at] += totals[c];
    }
  }
  if (!callers)
    for (const edge of profile.edges) {
      const row = rowOf[edge.target] - 1;
      if (row >= 0 && !edge.folded && (!kept || kept[edge.target])) boxes.cycles[row] += edge.calls;
    }
  const numbers = boxes.numbers(levels || Infinity, special), rows: number[][] = [];
  for (let i = 0; i < boxes.count; i++) {
    if (!numbers[i]) continue;
    const c = boxes.context[i], counts = !callers && (!kept || kept[c]);
    rows.push([i ? numbers[boxes.above[i]] - 1 : -1, c, profile.block[c], totals[c], counts ? profile.values[its.metric][c] : 0,
      counts ? profile.values.calls[c] : 0, boxes.cycles[i], boxes.narrow[i], boxes.narrowCost[i]]);
    used[profile.block[c]] = profile.blocks[profile.block[c]];
  }
  const above: number[][] = [], path: number[] = [];
  for (let c = root; c; c = profile.parent[c]) {
    const p = profile.parent[c];
    path.unshift(profile.block[c]);
    if (above.length === ABOVE) continue;
    above.unshift([p, profile.block[p], totals[p]]);
    used[profile.block[p]] = profile.blocks[profile.block[p]];
  }
  return { metric: its.metric, unit: query.unit, total: totals[0], callers, rows, ...(levels ? { levels: boxes.deepest(), asked: levels } : {}), above, zoom: path, blocks: used };
}
