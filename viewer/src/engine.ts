// SPDX-License-Identifier: MIT
// The computations of a page without a server. Names and meanings follow src/profile and src/spans.
import { Block } from "./data";

export interface Edge { from: number; target: number; calls: number; folded: boolean; }

export interface Profile {
  count: number;
  blocks: Block[];
  parent: Uint32Array; // parent[c] < c
  block: Uint32Array;
  callsTree: Float64Array;
  edges: Edge[];
  values: Record<string, Float64Array>;
}

export interface Query { metric: string; unit: string; focus: number[]; drops: number[][]; top: number; }

type Kept = Uint8Array | null;

// ---- matching sequences: the automaton of Knuth, Morris and Pratt over paths

interface Matcher { length: number; states: Uint16Array; step(state: number, block: number): number; }

function matcher(profile: Profile, sequence: number[]): Matcher {
  const length = sequence.length, back = new Int32Array(length + 1);
  back[0] = -1;
  for (let i = 0, j = -1; i < length; ) {
    while (j >= 0 && sequence[i] !== sequence[j]) j = back[j];
    back[++i] = ++j;
  }
  const step = (state: number, block: number): number => {
    if (state === length) state = back[length];
    while (state >= 0 && sequence[state] !== block) state = back[state];
    return state + 1;
  };
  const states = new Uint16Array(profile.count);
  states[0] = step(0, profile.block[0]);
  for (let c = 1; c < profile.count; c++) states[c] = step(states[profile.parent[c]], profile.block[c]);
  return { length, states, step };
}

function withinOf(profile: Profile, m: Matcher): Uint8Array {
  const within = new Uint8Array(profile.count);
  for (let c = 0; c < profile.count; c++)
    within[c] = (c && within[profile.parent[c]]) || m.states[c] === m.length ? 1 : 0;
  return within;
}

function select(profile: Profile, focus: number[], drops: number[][]): Kept {
  if (!focus.length && !drops.length) return null;
  const kept = focus.length ? withinOf(profile, matcher(profile, focus)) : new Uint8Array(profile.count).fill(1);
  for (const drop of drops) {
    const dropped = withinOf(profile, matcher(profile, drop));
    for (let c = 0; c < profile.count; c++) if (dropped[c]) kept[c] = 0;
  }
  return kept;
}

const self = (profile: Profile, metric: string, c: number, kept: Kept): number =>
  kept && !kept[c] ? 0 : profile.values[metric][c];

function totalsOf(profile: Profile, metric: string, kept: Kept): Float64Array {
  const totals = new Float64Array(profile.count);
  for (let c = 0; c < profile.count; c++) totals[c] = self(profile, metric, c, kept);
  for (let c = profile.count - 1; c > 0; c--) totals[profile.parent[c]] += totals[c];
  return totals;
}

// Visits contexts depth first, without recursion; children by number.
function walk(profile: Profile, enter: (c: number) => void, leave: (c: number) => void): void {
  const first = new Uint32Array(profile.count), next = new Uint32Array(profile.count);
  for (let c = profile.count - 1; c > 0; c--) {
    next[c] = first[profile.parent[c]];
    first[profile.parent[c]] = c;
  }
  let c = 0;
  enter(c);
  for (;;) {
    if (first[c]) { c = first[c]; enter(c); continue; }
    leave(c);
    while (c && !next[c]) { c = profile.parent[c]; leave(c); }
    if (!c) return;
    c = next[c];
    enter(c);
  }
}

function blockCosts(profile: Profile, metric: string, kept: Kept) {
  const own = new Float64Array(profile.blocks.length), inclusive = new Float64Array(profile.blocks.length);
  const active = new Uint32Array(profile.blocks.length), totals = totalsOf(profile, metric, kept);
  walk(profile, (c) => {
    const b = profile.block[c];
    own[b] += self(profile, metric, c, kept);
    if (active[b]++ === 0) inclusive[b] += totals[c];
  }, (c) => { active[profile.block[c]]--; });
  return { self: own, inclusive, total: totals[0] };
}

const falling = (a: number, b: number): number => b - a;

export function flat(profile: Profile, query: Query, sort: string) {
  const { metric } = query, kept = select(profile, query.focus, query.drops);
  const cost = blockCosts(profile, metric, kept), calls = blockCosts(profile, "calls", kept);
  const shown: number[] = [];
  for (let b = 0; b < profile.blocks.length; b++)
    if ((cost.self[b] && (b || metric !== "calls")) || (b && (cost.inclusive[b] || calls.self[b]))) shown.push(b);
  const name = (a: number, b: number) => (profile.blocks[a].name < profile.blocks[b].name ? -1 : profile.blocks[a].name > profile.blocks[b].name ? 1 : a - b);
  const keys: Record<string, Float64Array[]> = {
    self: [cost.self, cost.inclusive, calls.self], inclusive: [cost.inclusive, cost.self, calls.self], calls: [calls.self, cost.self, cost.inclusive],
  };
  const order = keys[sort] || keys.self;
  shown.sort((a, b) => order.reduce((so, key) => so || falling(key[a], key[b]), 0) || name(a, b));
  const rows = query.top ? shown.slice(0, query.top) : shown;
  return {
    hidden: shown.length - rows.length,
    flat: rows.map((b) => ({ block: profile.blocks[b], calls: calls.self[b], self: { [metric]: cost.self[b] }, inclusive: { [metric]: cost.inclusive[b] } })),
  };
}

// ---- sequences

function measure(profile: Profile, sequence: number[], metric: string, kept: Kept) {
  const m = matcher(profile, sequence), within = withinOf(profile, m);
  const cost = { calls: 0, self: 0, inclusive: 0 };
  for (let c = 0; c < profile.count; c++) {
    if (!within[c] || (kept && !kept[c])) continue;
    cost.inclusive += profile.values[metric][c];
    if (m.states[c] === m.length) {
      cost.self += profile.values[metric][c];
      cost.calls += profile.callsTree[c];
    }
  }
  for (const edge of profile.edges)
    if ((!kept || kept[edge.target]) && m.step(m.states[edge.from], profile.block[edge.target]) === m.length) cost.calls += edge.calls;
  return cost;
}

export function steps(profile: Profile, query: Query) {
  const kept = select(profile, [], query.drops);
  return query.focus.map((id, i) => ({ ...measure(profile, query.focus.slice(0, i + 1), query.metric, kept), block: profile.blocks[id] }));
}

function blockBefore(profile: Profile, c: number, length: number): number {
  for (; length; length--) {
    if (!c) return -1;
    c = profile.parent[c];
  }
  return profile.block[c];
}

class Side {
  calls: Float64Array;
  self: Float64Array;
  inclusive: Float64Array;
  active: Uint32Array;
  constructor(private profile: Profile) {
    const n = profile.blocks.length;
    this.calls = new Float64Array(n);
    this.self = new Float64Array(n);
    this.inclusive = new Float64Array(n);
    this.active = new Uint32Array(n);
  }
  enter(b: number, own: number, total: number): void {
    this.self[b] += own;
    if (this.active[b]++ === 0) this.inclusive[b] += total;
  }
  rows(query: Query) {
    const shown: number[] = [];
    for (let b = 0; b < this.profile.blocks.length; b++) if (this.calls[b] || this.self[b] || this.inclusive[b]) shown.push(b);
    shown.sort((a, b) => falling(this.inclusive[a], this.inclusive[b]) || falling(this.calls[a], this.calls[b]) || a - b);
    return (query.top ? shown.slice(0, query.top) : shown).map((b) => ({
      block: this.profile.blocks[b], calls: this.calls[b], self: { [query.metric]: this.self[b] }, inclusive: { [query.metric]: this.inclusive[b] },
    }));
  }
}

export function neighbours(profile: Profile, query: Query) {
  const { metric, focus } = query, kept = select(profile, [], query.drops), m = matcher(profile, focus);
  const totals = totalsOf(profile, metric, kept), before = new Side(profile), after = new Side(profile);
  const ends = (c: number) => m.states[c] === m.length;
  walk(profile, (c) => {
    const own = self(profile, metric, c, kept);
    const b = ends(c) ? blockBefore(profile, c, m.length) : -1;
    if (b >= 0) before.enter(b, own, totals[c]);
    if (c && ends(profile.parent[c])) after.enter(profile.block[c], own, totals[c]);
  }, (c) => {
    const b = ends(c) ? blockBefore(profile, c, m.length) : -1;
    if (b >= 0) before.active[b]--;
    if (c && ends(profile.parent[c])) after.active[profile.block[c]]--;
  });
  for (let c = 1; c < profile.count; c++) {
    if (kept && !kept[c]) continue;
    const b = ends(c) ? blockBefore(profile, c, m.length) : -1;
    if (b >= 0) before.calls[b] += profile.callsTree[c];
    if (ends(profile.parent[c])) after.calls[profile.block[c]] += profile.callsTree[c];
  }
  for (const edge of profile.edges) {
    if (kept && !kept[edge.target]) continue;
    if (m.step(m.states[edge.from], profile.block[edge.target]) === m.length) {
      const b = blockBefore(profile, edge.from, m.length - 1);
      if (b >= 0) before.calls[b] += edge.calls;
    }
    if (ends(edge.from)) after.calls[profile.block[edge.target]] += edge.calls;
  }
  const cost = measure(profile, focus, metric, kept);
  return {
    blocks: focus.map((b) => profile.blocks[b]), calls: cost.calls, self: { [metric]: cost.self }, inclusive: { [metric]: cost.inclusive },
    before: before.rows(query), after: after.rows(query),
  };
}

export function sequences(profile: Profile, query: Query) {
  const { metric } = query, kept = select(profile, query.focus, query.drops), totals = totalsOf(profile, metric, kept);
  const shown: number[] = [];
  for (let c = 1; c < profile.count; c++) if (self(profile, metric, c, kept)) shown.push(c);
  shown.sort((a, b) => falling(profile.values[metric][a], profile.values[metric][b]) || a - b);
  const blocks: Record<string, Block> = {};
  const rows = shown.slice(0, query.top || 100).map((c) => {
    const path: number[] = [];
    for (let at = c; at && path.length < 256; at = profile.parent[at]) path.unshift(profile.block[at]);
    for (const b of path) blocks[b] = profile.blocks[b];
    return { path, calls: profile.values.calls[c], self: profile.values[metric][c], inclusive: totals[c] };
  });
  return { metric, total: totals[0], sequences: rows, blocks };
}

export function match(profile: Profile, query: Query, text: string) {
  const kept = select(profile, query.focus, query.drops), wanted = text.toLowerCase();
  const matches = profile.blocks.map((b, id) => id > 0 && (b.name.toLowerCase().includes(wanted) || b.file.toLowerCase().includes(wanted)));
  const within = new Uint8Array(profile.count), found = { count: 0, self: 0, inclusive: 0, blocks: [] as number[] };
  for (let c = 1; c < profile.count; c++) {
    within[c] = within[profile.parent[c]] || matches[profile.block[c]] ? 1 : 0;
    const cost = self(profile, query.metric, c, kept);
    if (within[c]) found.inclusive += cost;
    if (matches[profile.block[c]]) found.self += cost;
  }
  matches.forEach((is, id) => { if (is) found.blocks.push(id); });
  found.count = found.blocks.length;
  found.blocks = found.blocks.slice(0, MATCHES);
  return found;
}

const MATCHES = 1000;

// ---- parts of a profile, as trees

export interface Part { profile: Profile; kept: Kept; totals: Float64Array; metric: string; }

// Builds paths in canonical form (graph/graph.c): a repetition leads back to its begin.
class Tree {
  parent: number[] = [0];
  block: number[] = [0];
  private ways = new Map<number, number>();
  calls: number[] = [0];
  value: number[] = [0];
  edges: Edge[] = [];
  constructor(private blocks: number) {}
  child(at: number, block: number, canonical: boolean): number {
    const key = at * this.blocks + block;
    let to = this.ways.get(key);
    if (to === undefined) {
      to = canonical ? this.repeats(at, block) : -1;
      if (to < 0) {
        to = this.parent.length;
        this.parent.push(at);
        this.block.push(block);
        this.calls.push(0);
        this.value.push(0);
      }
      this.ways.set(key, to);
    }
    return to;
  }
  // If the path with `block` ends with two equal halves, returns the context at the end of the first; else -1.
  private repeats(at: number, block: number): number {
    const path = [block];
    for (let c = at; c; c = this.parent[c]) path.push(this.block[c]);
    const nodes: number[] = [-1];
    for (let c = at; c; c = this.parent[c]) nodes.push(c);
    for (let k = 1; 2 * k <= path.length; k++) {
      let same = true;
      for (let i = 0; i < k && same; i++) same = path[i] === path[i + k];
      if (same) return nodes[k];
    }
    return -1;
  }
  profile(of: Profile, metric: string): Profile {
    const values: Record<string, Float64Array> = { calls: Float64Array.from(this.calls) };
    if (metric !== "calls") values[metric] = Float64Array.from(this.value);
    return {
      count: this.parent.length, blocks: of.blocks, parent: Uint32Array.from(this.parent), block: Uint32Array.from(this.block),
      callsTree: Float64Array.from(this.calls), edges: this.edges, values,
    };
  }
  charge(at: number, metric: string, amount: number): void {
    if (metric === "calls") this.calls[at] += amount;
    else this.value[at] += amount;
  }
}

function below(profile: Profile, query: Query, kept: Kept): Profile {
  const { metric, focus } = query, within = withinOf(profile, matcher(profile, focus));
  const tree = new Tree(profile.blocks.length), made = new Uint32Array(profile.count);
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
  const calls = tree.calls.slice();
  for (const edge of profile.edges) {
    if (!within[edge.from] || !within[edge.target] || (kept && !kept[edge.target])) continue;
    tree.edges.push({ ...edge, from: made[edge.from], target: made[edge.target] });
    calls[made[edge.target]] += edge.calls;
  }
  const result = tree.profile(profile, metric);
  result.values.calls = Float64Array.from(calls);
  return result;
}

const ABOVE = 64, UPWARDS = 256, PARTS = 20000;

function above(profile: Profile, query: Query, kept: Kept): Profile {
  const { metric, focus } = query, m = matcher(profile, focus), within = withinOf(profile, m);
  const totals = totalsOf(profile, metric, kept), tree = new Tree(profile.blocks.length);
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

function upsideDown(profile: Profile, query: Query, kept: Kept): Profile {
  const { metric } = query, tree = new Tree(profile.blocks.length);
  const least = profile.values[metric].reduce((sum, v) => sum + v, 0) / PARTS;
  interface Stream { drops: [number, number][]; node: number; depth: number; }
  const streams: Stream[] = [];
  const part = (drops: [number, number][], node: number, depth: number) => {
    const kinds = new Map<number, [number, number][]>();
    for (const drop of drops) {
      const b = profile.block[drop[0]];
      if (!b) { tree.charge(node, metric, drop[1]); continue; }
      const list = kinds.get(b);
      if (list) list.push(drop);
      else kinds.set(b, [drop]);
    }
    kinds.forEach((list, b) => streams.push({ drops: list, node: tree.child(node, b, true), depth: depth + 1 }));
  };
  const first: [number, number][] = [];
  for (let c = 0; c < profile.count; c++) if (self(profile, metric, c, kept)) first.push([c, profile.values[metric][c]]);
  part(first, 0, 0);
  for (let stream = streams.pop(); stream; stream = streams.pop()) {
    const cost = stream.drops.reduce((sum, drop) => sum + drop[1], 0);
    if (cost < least || stream.depth >= UPWARDS) { tree.charge(stream.node, metric, cost); continue; }
    part(stream.drops.map(([c, amount]) => [profile.parent[c], amount]), stream.node, stream.depth);
  }
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

// ---- call graph and sources

export function graph(profile: Profile, query: Query, most: number) {
  const { metric } = query, kept = select(profile, query.focus, query.drops), totals = totalsOf(profile, metric, kept);
  const cost = blockCosts(profile, metric, kept), calls = blockCosts(profile, "calls", kept);
  interface Arrow { caller: number; callee: number; calls: number; inclusive: number; active: number; }
  const arrows = new Map<number, Arrow>(), n = profile.blocks.length;
  const arrow = (a: number, b: number): Arrow => {
    let its = arrows.get(a * n + b);
    if (!its) arrows.set(a * n + b, (its = { caller: a, callee: b, calls: 0, inclusive: 0, active: 0 }));
    return its;
  };
  const of = (c: number) => arrow(profile.block[profile.parent[c]], profile.block[c]);
  walk(profile, (c) => {
    if (!c) return;
    const its = of(c);
    if (!kept || kept[c]) its.calls += profile.callsTree[c];
    if (its.active++ === 0) its.inclusive += totals[c];
  }, (c) => { if (c) of(c).active--; });
  for (const edge of profile.edges)
    if (!kept || kept[edge.target]) arrow(profile.block[edge.from], profile.block[edge.target]).calls += edge.calls;
  const shown: number[] = [];
  for (let b = 1; b < n; b++) if (cost.inclusive[b]) shown.push(b);
  shown.sort((a, b) => falling(cost.inclusive[a], cost.inclusive[b]) || a - b);
  const drawn = new Set(shown.slice(0, most));
  return {
    metric, total: cost.total, hidden: shown.length - drawn.size,
    nodes: [...drawn].map((b) => ({ block: profile.blocks[b], calls: calls.self[b], self: cost.self[b], inclusive: cost.inclusive[b] })),
    arrows: [...arrows.values()].filter((a) => drawn.has(a.caller) && drawn.has(a.callee) && (a.calls || a.inclusive))
      .sort((a, b) => b.inclusive - a.inclusive || b.calls - a.calls).slice(0, drawn.size * 4)
      .map(({ caller, callee, calls: its, inclusive }) => ({ caller, callee, calls: its, inclusive })),
  };
}

export function source(profile: Profile, query: Query, block: number) {
  const kept = select(profile, query.focus, query.drops), file = profile.blocks[block].file;
  const cost = blockCosts(profile, query.metric, kept), calls = blockCosts(profile, "calls", kept);
  return {
    file, lines: null, reason: "this page has no sources; cairn view shows them",
    blocks: profile.blocks.filter((b) => b.id && b.file === file).map((b) => ({ block: b, calls: calls.self[b.id], self: cost.self[b.id], inclusive: cost.inclusive[b.id] })),
  };
}
