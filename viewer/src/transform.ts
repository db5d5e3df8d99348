// SPDX-License-Identifier: MIT
// Simplified profiles: functions merged into their callers, or collapsed with their callees. The
// same as src/profile/transform.c.
import { Block } from "./data";
import { Edge, PairTable, Profile } from "./profile";
import { TransformKind, parseTransform } from "./route";

const ofFile = (kind: TransformKind): boolean => kind.endsWith("-file");

function chosenBlocks(profile: Profile, kind: TransformKind, block: Block | undefined): Uint8Array {
  const chosen = new Uint8Array(profile.blocks.length);
  if (!block) return chosen;
  if (ofFile(kind) && block.file) profile.blocks.forEach((one, b) => { chosen[b] = one.file === block.file ? 1 : 0; });
  else chosen[block.id] = 1;
  chosen[0] = 0;
  return chosen;
}

const LISTED = 8;

// The new contexts. The first children of each are in a list, the others in a hash table: most
// contexts have few children, and a hash table of millions of contexts misses the processor's
// caches.
class Contexts {
  count = 1;
  parent: Uint32Array;
  block: Uint32Array;
  private first: Uint32Array; // by context: its first child in the list; 0: none
  private next: Uint32Array; // by context: its next sibling in the list; 0: none
  private listed: Uint8Array; // number of children in the list
  private pairs = new PairTable(); // of parent and block: the other children
  private others: number[] = [];
  constructor(most: number) {
    [this.parent, this.block, this.first, this.next] = [0, 1, 2, 3].map(() => new Uint32Array(most));
    this.listed = new Uint8Array(most);
  }
  // Returns the child with the block, or -1.
  find(above: number, block: number): number {
    for (let child = this.first[above]; child; child = this.next[child]) if (this.block[child] === block) return child;
    const pair = this.listed[above] < LISTED ? -1 : this.pairs.find(above, block);
    return pair < 0 ? -1 : this.others[pair];
  }
  // Returns the child with the block, a new one if there is none.
  child(above: number, block: number): number {
    const found = this.find(above, block);
    if (found >= 0) return found;
    const made = this.count++;
    this.parent[made] = above;
    this.block[made] = block;
    if (this.listed[above] < LISTED) {
      this.listed[above]++;
      this.next[made] = this.first[above];
      this.first[above] = made;
    } else this.others[this.pairs.add(above, block)] = made;
    return made;
  }
}

// By context of the old profile. to: the new context that gets its costs; joined: 1 if it became a
// part of one above it; gone: 1 if it was left out with its costs.
interface Change { to: Uint32Array; joined: Uint8Array; gone: Uint8Array; }

function mapContexts(profile: Profile, kind: TransformKind, chosen: Uint8Array, made: Contexts): Change {
  const { count, parent, block } = profile, to = new Uint32Array(count), joined = new Uint8Array(count), gone = new Uint8Array(count);
  const collapses = kind === "collapse", focuses = kind === "focus-file";
  gone[0] = focuses ? 1 : 0;
  for (let c = 1; c < count; c++) {
    const above = parent[c], is = chosen[block[c]], below = chosen[block[above]];
    let start = to[above];
    to[c] = start;
    if (kind === "merge" || kind === "merge-file") joined[c] = is;
    else if (collapses) joined[c] = below || joined[above];
    else if (kind === "collapse-file") joined[c] = is && below;
    else if (gone[above]) {
      if (is) start = 0;
      else gone[c] = 1;
    }
    if (!joined[c] && !gone[c]) to[c] = made.child(start, block[c]);
  }
  return { to, joined, gone };
}

function mapEdges(profile: Profile, kind: TransformKind, chosen: Uint8Array, { to, joined, gone }: Change, made: Contexts, callsTree: Float64Array): Edge[] {
  const collapses = kind.startsWith("collapse"), edges: Edge[] = [], known = new Map<string, Edge>();
  for (const { from, target, calls, folded } of profile.edges) {
    const block = profile.block[target], at = to[from], its = to[target];
    if (gone[from] || gone[target] || joined[target] || (collapses && at === its && chosen[block])) continue;
    const child = made.find(at, block), key = at + " " + block, edge = known.get(key);
    if (child >= 0) callsTree[child] += calls;
    else if (edge) edge.calls += calls;
    else {
      const first = { from: at, target: its, calls, folded };
      known.set(key, first);
      edges.push(first);
    }
  }
  return edges;
}

function transformOnce(profile: Profile, kind: TransformKind, id: number): Profile {
  const chosen = chosenBlocks(profile, kind, profile.blocks[id]), made = new Contexts(profile.count);
  const change = mapContexts(profile, kind, chosen, made), { to, joined, gone } = change, { count } = made, callsTree = new Float64Array(count);
  for (let c = 0; c < profile.count; c++) if (!joined[c] && !gone[c]) callsTree[to[c]] += profile.callsTree[c];
  if (gone[0]) callsTree[0] += profile.callsTree[0];
  const edges = mapEdges(profile, kind, chosen, change, made, callsTree), values: Record<string, Float64Array> = {};
  for (const name of Object.keys(profile.values))
    lazily(values, name, () => {
      const old = profile.values[name], column = name === "calls" ? callsTree.slice() : new Float64Array(count);
      if (name === "calls") for (const edge of edges) column[edge.target] += edge.calls;
      else for (let c = 0; c < profile.count; c++) if (!gone[c]) column[to[c]] += old[c];
      return column;
    });
  return { count, blocks: profile.blocks, parent: made.parent.subarray(0, count), block: made.block.subarray(0, count), callsTree, edges, values };
}

// Computes a member when it is first asked for.
function lazily<T>(object: Record<string, T>, name: string, make: () => T): void {
  Object.defineProperty(object, name, {
    configurable: true, enumerable: true,
    get: () => {
      const value = make();
      Object.defineProperty(object, name, { value, enumerable: true });
      return value;
    },
  });
}

const last = new WeakMap<Profile, { key: string; made: Profile }>();

// Returns the profile with the transforms, in their order; the last one of a profile is cached.
export function transformed(profile: Profile, texts: string[]): Profile {
  if (!texts.length) return profile;
  const key = texts.join("\n"), known = last.get(profile);
  if (known && known.key === key) return known.made;
  const made = texts.map(parseTransform).reduce((now, one) => (one ? transformOnce(now, one.kind, one.block) : now), profile);
  last.set(profile, { key, made });
  return made;
}
