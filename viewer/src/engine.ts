// SPDX-License-Identifier: MIT
// The computations of a page without a server. Names and meanings follow src/profile and src/spans.
import { Block } from "./data";
import { Kept, Profile, Query, blockCosts, falling, matcher, outermost, ownCosts, select, self, totalsOf, withinOf } from "./profile";

export function flat(profile: Profile, query: Query, sort: string) {
  const { metric } = query, kept = select(profile, query.focus, query.drops);
  const cost = blockCosts(profile, metric, kept), calls = ownCosts(profile, "calls", kept);
  const shown: number[] = [];
  for (let b = 0; b < profile.blocks.length; b++)
    if ((cost.self[b] && (b || metric !== "calls")) || (b && (cost.inclusive[b] || calls[b]))) shown.push(b);
  const name = (a: number, b: number) => (profile.blocks[a].name < profile.blocks[b].name ? -1 : profile.blocks[a].name > profile.blocks[b].name ? 1 : a - b);
  const keys: Record<string, Float64Array[]> = {
    self: [cost.self, cost.inclusive, calls], total: [cost.inclusive, cost.self, calls], calls: [calls, cost.self, cost.inclusive],
  };
  const order = keys[sort] || keys.self;
  shown.sort((a, b) => order.reduce((so, key) => so || falling(key[a], key[b]), 0) || name(a, b));
  const rows = query.top ? shown.slice(0, query.top) : shown;
  return {
    hidden: shown.length - rows.length,
    flat: rows.map((b) => ({ block: profile.blocks[b], calls: calls[b], self: { [metric]: cost.self[b] }, inclusive: { [metric]: cost.inclusive[b] } })),
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

// The callers or callees of a sequence. of: by context, 1 + the block of the neighbour that it
// counts for; 0: none.
class Side {
  of: Uint32Array;
  calls: Float64Array;
  constructor(private profile: Profile) {
    this.of = new Uint32Array(profile.count);
    this.calls = new Float64Array(profile.blocks.length);
  }
  rows(query: Query, kept: Kept, totals: Float64Array) {
    const { profile, of, calls } = this, { metric } = query, n = profile.blocks.length, values = profile.values[metric];
    const own = new Float64Array(n), inclusive = new Float64Array(n), outer = outermost(profile, of, n), shown: number[] = [];
    for (let c = 0; c < profile.count; c++) {
      if (!of[c]) continue;
      if (!kept || kept[c]) own[of[c] - 1] += values[c];
      if (outer[c]) inclusive[of[c] - 1] += totals[c];
    }
    for (let b = 0; b < n; b++) if (calls[b] || own[b] || inclusive[b]) shown.push(b);
    shown.sort((a, b) => falling(inclusive[a], inclusive[b]) || falling(calls[a], calls[b]) || a - b);
    return (query.top ? shown.slice(0, query.top) : shown).map((b) => ({
      block: profile.blocks[b], calls: calls[b], self: { [metric]: own[b] }, inclusive: { [metric]: inclusive[b] },
    }));
  }
}

export function neighbours(profile: Profile, query: Query) {
  const { metric, focus } = query, kept = select(profile, [], query.drops), m = matcher(profile, focus);
  const totals = totalsOf(profile, metric, kept), before = new Side(profile), after = new Side(profile);
  const { states, length } = m, { parent, block, callsTree } = profile;
  for (let c = 0; c < profile.count; c++) {
    if (states[c] === length) before.of[c] = 1 + blockBefore(profile, c, length);
    if (c && states[parent[c]] === length) after.of[c] = 1 + block[c];
    if (!c || (kept && !kept[c])) continue;
    if (before.of[c]) before.calls[before.of[c] - 1] += callsTree[c];
    if (after.of[c]) after.calls[after.of[c] - 1] += callsTree[c];
  }
  for (const edge of profile.edges) {
    if (kept && !kept[edge.target]) continue;
    if (m.step(states[edge.from], block[edge.target]) === length) {
      const b = blockBefore(profile, edge.from, length - 1);
      if (b >= 0) before.calls[b] += edge.calls;
    }
    if (states[edge.from] === length) after.calls[block[edge.target]] += edge.calls;
  }
  const cost = measure(profile, focus, metric, kept);
  return {
    blocks: focus.map((b) => profile.blocks[b]), calls: cost.calls, self: { [metric]: cost.self }, inclusive: { [metric]: cost.inclusive },
    before: before.rows(query, kept, totals), after: after.rows(query, kept, totals),
  };
}

// Returns the numbers below `count` for which `less` is largest, the largest first: a heap with the
// least on top.
function largest(count: number, most: number, less: (a: number, b: number) => boolean, is: (n: number) => boolean): number[] {
  const heap: number[] = [];
  const sift = (at: number) => {
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < heap.length && less(heap[child], heap[least])) least = child;
      if (least === at) return;
      [heap[at], heap[least]] = [heap[least], heap[at]];
      at = least;
    }
  };
  for (let n = 1; n < count; n++) {
    if (!is(n)) continue;
    if (heap.length < most) {
      heap.push(n);
      if (heap.length === most) for (let at = most >> 1; at >= 0; at--) sift(at);
    } else if (less(heap[0], n)) {
      heap[0] = n;
      sift(0);
    }
  }
  return heap.sort((a, b) => (less(a, b) ? 1 : -1));
}

export function sequences(profile: Profile, query: Query) {
  const { metric } = query, kept = select(profile, query.focus, query.drops), totals = totalsOf(profile, metric, kept), values = profile.values[metric];
  const shown = largest(profile.count, query.top || 100, (a, b) => (values[a] !== values[b] ? values[a] < values[b] : a > b),
    (c) => values[c] > 0 && (!kept || kept[c] > 0));
  const blocks: Record<string, Block> = {};
  const rows = shown.map((c) => {
    const path: number[] = [];
    for (let at = c; at && path.length < 256; at = profile.parent[at]) path.push(profile.block[at]);
    path.reverse();
    for (const b of path) blocks[b] = profile.blocks[b];
    return { path, calls: profile.values.calls[c], self: values[c], inclusive: totals[c] };
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

// ---- call graph and sources

// Returns the arrows between drawn functions. Contexts are grouped by the pair of their parent's
// block and their own, numbered from 1; 0: not both are drawn.
function arrowsOf(profile: Profile, metric: string, kept: Kept, drawn: number[]) {
  const totals = totalsOf(profile, metric, kept), { block, parent, callsTree } = profile, most = drawn.length;
  const place = new Int32Array(profile.blocks.length).fill(-1), of = new Uint32Array(profile.count);
  drawn.forEach((b, i) => { place[b] = i; });
  const pairOf = (a: number, b: number): number => (place[a] < 0 || place[b] < 0 ? 0 : 1 + place[a] * most + place[b]);
  for (let c = 1; c < profile.count; c++) of[c] = pairOf(block[parent[c]], block[c]);
  const calls = new Float64Array(most * most + 1), inclusive = new Float64Array(most * most + 1), outer = outermost(profile, of, most * most);
  for (let c = 1; c < profile.count; c++) {
    if (!kept || kept[c]) calls[of[c]] += callsTree[c];
    if (outer[c]) inclusive[of[c]] += totals[c];
  }
  for (const edge of profile.edges)
    if (!kept || kept[edge.target]) calls[pairOf(block[edge.from], block[edge.target])] += edge.calls;
  return Array.from(calls, (its, pair) => ({ caller: drawn[Math.floor((pair - 1) / most)], callee: drawn[(pair - 1) % most], calls: its, inclusive: inclusive[pair] }))
    .slice(1).filter((arrow) => arrow.calls || arrow.inclusive);
}

export function graph(profile: Profile, query: Query, most: number) {
  const { metric } = query, kept = select(profile, query.focus, query.drops);
  const cost = blockCosts(profile, metric, kept), calls = ownCosts(profile, "calls", kept), shown: number[] = [];
  for (let b = 1; b < profile.blocks.length; b++) if (cost.inclusive[b]) shown.push(b);
  shown.sort((a, b) => falling(cost.inclusive[a], cost.inclusive[b]) || a - b);
  const drawn = shown.slice(0, most);
  return {
    metric, total: cost.total, hidden: shown.length - drawn.length,
    nodes: drawn.map((b) => ({ block: profile.blocks[b], calls: calls[b], self: cost.self[b], inclusive: cost.inclusive[b] })),
    arrows: arrowsOf(profile, metric, kept, drawn).sort((a, b) => b.inclusive - a.inclusive || b.calls - a.calls).slice(0, drawn.length * 4),
  };
}

export function source(profile: Profile, query: Query, block: number) {
  const kept = select(profile, query.focus, query.drops), file = profile.blocks[block].file;
  const cost = blockCosts(profile, query.metric, kept), calls = ownCosts(profile, "calls", kept);
  return {
    file, lines: null, reason: "this page has no sources; cairn view shows them",
    blocks: profile.blocks.filter((b) => b.id && b.file === file).map((b) => ({ block: b, calls: calls[b.id], self: cost.self[b.id], inclusive: cost.inclusive[b.id] })),
  };
}
