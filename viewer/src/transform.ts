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

// By context of the old profile: the new one that has its costs; if it is a part of one above; if
// it is gone with its costs.
interface Change { to: Uint32Array; joined: Uint8Array; gone: Uint8Array; }

// The new contexts: 1 + the number of a pair of parent and block.
function mapContexts(profile: Profile, kind: TransformKind, chosen: Uint8Array, pairs: PairTable): Change {
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
    if (!joined[c] && !gone[c]) to[c] = 1 + pairs.add(start, block[c]);
  }
  return { to, joined, gone };
}

function mapEdges(profile: Profile, kind: TransformKind, chosen: Uint8Array, { to, joined, gone }: Change, pairs: PairTable, callsTree: Float64Array): Edge[] {
  const collapses = kind.startsWith("collapse"), edges: Edge[] = [], known = new Map<string, Edge>();
  for (const { from, target, calls, folded } of profile.edges) {
    const block = profile.block[target], at = to[from], its = to[target];
    if (gone[from] || gone[target] || joined[target] || (collapses && at === its && chosen[block])) continue;
    const child = pairs.find(at, block), key = at + " " + block, edge = known.get(key);
    if (child >= 0) callsTree[1 + child] += calls;
    else if (edge) edge.calls += calls;
    else {
      const made = { from: at, target: its, calls, folded };
      known.set(key, made);
      edges.push(made);
    }
  }
  return edges;
}

function transformOnce(profile: Profile, kind: TransformKind, id: number): Profile {
  const chosen = chosenBlocks(profile, kind, profile.blocks[id]), pairs = new PairTable();
  const change = mapContexts(profile, kind, chosen, pairs), { to, joined, gone } = change, count = 1 + pairs.count;
  const parent = new Uint32Array(count), block = new Uint32Array(count), callsTree = new Float64Array(count);
  parent.set(pairs.lefts.subarray(0, pairs.count), 1);
  block.set(pairs.rights.subarray(0, pairs.count), 1);
  for (let c = 0; c < profile.count; c++) if (!joined[c] && !gone[c]) callsTree[to[c]] += profile.callsTree[c];
  if (gone[0]) callsTree[0] += profile.callsTree[0];
  const edges = mapEdges(profile, kind, chosen, change, pairs, callsTree), values: Record<string, Float64Array> = {};
  for (const [name, old] of Object.entries(profile.values)) {
    const column = (values[name] = name === "calls" ? callsTree.slice() : new Float64Array(count));
    if (name === "calls") for (const edge of edges) column[edge.target] += edge.calls;
    else for (let c = 0; c < profile.count; c++) if (!gone[c]) column[to[c]] += old[c];
  }
  return { count, blocks: profile.blocks, parent, block, callsTree, edges, values };
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
