// SPDX-License-Identifier: MIT
// A profile in the page, and sums over its contexts. Names and meanings follow src/profile.
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

// By context: 1 if it belongs to the selection; null: all do.
export type Kept = Uint8Array | null;

// ---- cached figures

// Figures of a profile, or of a selection of its contexts; freed with it.
interface Figures { totals: Map<string, Float64Array>; own: Map<string, Float64Array>; costs: Map<string, BlockCosts>; }

const figures = new WeakMap<object, Figures>();

function figuresOf(profile: Profile, kept: Kept): Figures {
  const key = kept || profile;
  let its = figures.get(key);
  if (!its) figures.set(key, (its = { totals: new Map(), own: new Map(), costs: new Map() }));
  return its;
}

// Returns the map's entry, made if needed.
function once<T>(map: Map<string, T>, key: string, make: () => T): T {
  let its = map.get(key);
  if (its === undefined) map.set(key, (its = make()));
  return its;
}

const KEPT = 4; // selections, and matchers, of a profile that stay cached

// Does the same for a profile's map, in which only the KEPT last used entries stay.
function recent<T>(all: WeakMap<Profile, Map<string, T>>, profile: Profile, key: string, make: () => T): T {
  let known = all.get(profile);
  if (!known) all.set(profile, (known = new Map()));
  const its = once(known, key, make);
  known.delete(key);
  known.set(key, its); // as the newest
  if (known.size > KEPT) known.delete(known.keys().next().value!);
  return its;
}

const selections = new WeakMap<Profile, Map<string, Kept>>();
const matchers = new WeakMap<Profile, Map<string, Matcher>>();
const insides = new WeakMap<Matcher, Uint8Array>();
const trees = new WeakMap<Profile, { first: Uint32Array; next: Uint32Array }>();

// ---- matching sequences: the automaton of Knuth, Morris and Pratt over paths

export interface Matcher { length: number; states: Uint16Array; step(state: number, block: number): number; }

function matcherNow(profile: Profile, sequence: number[]): Matcher {
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
  const states = new Uint16Array(profile.count), { parent, block } = profile, first = sequence[0];
  states[0] = step(0, block[0]);
  for (let c = 1; c < profile.count; c++) {
    const state = states[parent[c]];
    states[c] = state ? step(state, block[c]) : block[c] === first ? 1 : 0;
  }
  return { length, states, step };
}

export const matcher = (profile: Profile, sequence: number[]): Matcher =>
  recent(matchers, profile, sequence.join(), () => matcherNow(profile, sequence));

// Returns by context 1 if its path contains the sequence.
export function withinOf(profile: Profile, m: Matcher): Uint8Array {
  let within = insides.get(m);
  if (within) return within;
  const { parent } = profile, { states, length } = m;
  insides.set(m, (within = new Uint8Array(profile.count)));
  within[0] = states[0] === length ? 1 : 0;
  for (let c = 1; c < profile.count; c++) within[c] = within[parent[c]] || states[c] === length ? 1 : 0;
  return within;
}

function selectNow(profile: Profile, focus: number[], drops: number[][]): Kept {
  if (!focus.length && !drops.length) return null;
  const kept = focus.length ? withinOf(profile, matcher(profile, focus)).slice() : new Uint8Array(profile.count).fill(1);
  for (const drop of drops) {
    const dropped = withinOf(profile, matcher(profile, drop));
    for (let c = 0; c < profile.count; c++) if (dropped[c]) kept[c] = 0;
  }
  return kept;
}

// Returns the contexts of a selection; equal selections are the same array.
export const select = (profile: Profile, focus: number[], drops: number[][]): Kept =>
  recent(selections, profile, JSON.stringify([focus, drops]), () => selectNow(profile, focus, drops));

export const self = (profile: Profile, metric: string, c: number, kept: Kept): number =>
  kept && !kept[c] ? 0 : profile.values[metric][c];

function addUp(profile: Profile, metric: string, kept: Kept): Float64Array {
  const totals = profile.values[metric].slice(), { parent } = profile;
  if (kept) for (let c = 0; c < profile.count; c++) if (!kept[c]) totals[c] = 0;
  for (let c = profile.count - 1; c > 0; c--) totals[parent[c]] += totals[c];
  return totals;
}

export const totalsOf = (profile: Profile, metric: string, kept: Kept): Float64Array =>
  once(figuresOf(profile, kept).totals, metric, () => addUp(profile, metric, kept));

// By context: its first child and its next sibling, by number; 0: none.
function treeOf(profile: Profile) {
  let tree = trees.get(profile);
  if (tree) return tree;
  const first = new Uint32Array(profile.count), next = new Uint32Array(profile.count), { parent } = profile;
  for (let c = profile.count - 1; c > 0; c--) {
    next[c] = first[parent[c]];
    first[parent[c]] = c;
  }
  trees.set(profile, (tree = { first, next }));
  return tree;
}

// Returns by context 1 if it belongs to a group (`of`, 0: none) and no ancestor belongs to the same
// one: the total cost of a group is the sum over these. Depth first, without recursion.
export function outermost(profile: Profile, of: Uint32Array, groups: number): Uint8Array {
  const { first, next } = treeOf(profile), { parent } = profile;
  const outer = new Uint8Array(profile.count), active = new Uint32Array(groups + 1);
  let c = 0;
  for (;;) {
    if (of[c] && active[of[c]]++ === 0) outer[c] = 1;
    if (first[c]) { c = first[c]; continue; }
    if (of[c]) active[of[c]]--;
    while (c && !next[c]) {
      c = parent[c];
      if (of[c]) active[of[c]]--;
    }
    if (!c) return outer;
    c = next[c];
  }
}

const outerBlocks = new WeakMap<Profile, Uint8Array>();

// Returns by context 1 if no ancestor has the same block; 1 for the root, too.
function outermostBlocks(profile: Profile): Uint8Array {
  let outer = outerBlocks.get(profile);
  if (!outer) outerBlocks.set(profile, (outer = outermost(profile, profile.block, profile.blocks.length)));
  outer[0] = 1;
  return outer;
}

interface BlockCosts { self: Float64Array; inclusive: Float64Array; total: number; }

function addOwn(profile: Profile, metric: string, kept: Kept): Float64Array {
  const own = new Float64Array(profile.blocks.length), { block } = profile, values = profile.values[metric];
  for (let c = 0; c < profile.count; c++) if (!kept || kept[c]) own[block[c]] += values[c];
  return own;
}

// Returns self costs by block.
export const ownCosts = (profile: Profile, metric: string, kept: Kept): Float64Array =>
  once(figuresOf(profile, kept).own, metric, () => addOwn(profile, metric, kept));

function addBlocks(profile: Profile, metric: string, kept: Kept): BlockCosts {
  const inclusive = new Float64Array(profile.blocks.length), { block } = profile;
  const totals = totalsOf(profile, metric, kept), outer = outermostBlocks(profile);
  for (let c = 0; c < profile.count; c++) if (outer[c]) inclusive[block[c]] += totals[c];
  return { self: ownCosts(profile, metric, kept), inclusive, total: totals[0] };
}

export const blockCosts = (profile: Profile, metric: string, kept: Kept): BlockCosts =>
  once(figuresOf(profile, kept).costs, metric, () => addBlocks(profile, metric, kept));

export const falling = (a: number, b: number): number => b - a;

// Numbers pairs of numbers in the order in which they are first asked for: an open-addressing hash
// table, because a Map with keys beyond 2^31 is ten times slower.
export class PairTable {
  lefts = new Uint32Array(1 << 10);
  rights = new Uint32Array(1 << 10);
  count = 0;
  private slots = new Uint32Array(1 << 12); // 1 + the number of a pair

  private slot(left: number, right: number): number {
    const { slots, lefts, rights } = this, last = slots.length - 1;
    let at = (Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b)) >>> 0;
    for (at = (at ^ (at >>> 15)) & last; slots[at]; at = (at + 1) & last)
      if (lefts[slots[at] - 1] === left && rights[slots[at] - 1] === right) return at;
    return at;
  }

  // Returns the number of a known pair, or -1.
  find(left: number, right: number): number {
    return this.slots[this.slot(left, right)] - 1;
  }

  // Returns the number of a pair, a new one if it is not known.
  add(left: number, right: number): number {
    let at = this.slot(left, right);
    if (this.slots[at]) return this.slots[at] - 1;
    if (this.count === this.lefts.length) {
      this.grow();
      at = this.slot(left, right);
    }
    this.lefts[this.count] = left;
    this.rights[this.count] = right;
    this.slots[at] = ++this.count;
    return this.count - 1;
  }

  private grow(): void {
    const { lefts, rights } = this;
    this.lefts = new Uint32Array(2 * lefts.length);
    this.rights = new Uint32Array(2 * rights.length);
    this.lefts.set(lefts);
    this.rights.set(rights);
    this.slots = new Uint32Array(2 * this.slots.length);
    for (let i = 0; i < this.count; i++) this.slots[this.slot(this.lefts[i], this.rights[i])] = i + 1;
  }
}
