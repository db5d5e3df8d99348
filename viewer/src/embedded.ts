// SPDX-License-Identifier: MIT
// The profile in a page without a server, and the answers that the server would give for it: the
// same sums over the same contexts. tests/view compares them with cairn report --json.
import { Block, Items, Source, parseJson } from "./data";
import { StoredAnswers } from "./stored";
import * as engine from "./engine";
import { Part, flame, part } from "./engine_flame";
import { Edge, Profile, Query } from "./profile";
import { transformed } from "./transform";

class Bytes {
  at = 0;
  constructor(private data: Uint8Array) {}

  number(): number {
    let byte = this.data[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    for (let scale = 128; ; scale *= 128) {
      byte = this.data[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  // Decodes numbers into an array from index `from`, in one loop because there are many.
  numbers(into: Uint32Array | Float64Array, from: number): void {
    const { data } = this;
    let { at } = this;
    for (let i = from; i < into.length; i++) {
      let byte = data[at++], value = byte & 127;
      for (let scale = 128; byte >= 128; scale *= 128) {
        byte = data[at++];
        value += (byte & 127) * scale;
      }
      into[i] = value;
    }
    this.at = at;
  }

  json(): any {
    const length = this.number(), text = this.data.subarray(this.at, this.at + length);
    this.at += length;
    return parseJson(new TextDecoder().decode(text));
  }
}

interface All {
  profile: Profile;
  head: any;
  stored: StoredAnswers;
}

function read(data: Uint8Array): All {
  const bytes = new Bytes(data);
  const head = bytes.json();
  const blocks: Block[] = bytes.json().map(([name, file, line, column, within]: any[], id: number) => ({ id, name, ...(within ? { within } : {}), file, line, column }));
  const count = bytes.number();
  const parent = new Uint32Array(count), block = new Uint32Array(count), callsTree = new Float64Array(count);
  bytes.numbers(parent, 1);
  for (let c = 1; c < count; c++) parent[c] = c - parent[c];
  bytes.numbers(block, 1);
  bytes.numbers(callsTree, 0);
  const calls = callsTree.slice();
  const edges: Edge[] = [];
  let from = 0;
  for (let left = bytes.number(); left; left--) {
    from += bytes.number();
    const edge = { from, target: bytes.number(), calls: bytes.number(), folded: bytes.number() > 0 };
    calls[edge.target] += edge.calls;
    edges.push(edge);
  }
  const values: Record<string, Float64Array> = {};
  for (const metric of head.metrics) {
    const there = bytes.number();
    const column = metric.name === "calls" ? calls : new Float64Array(count);
    if (there) bytes.numbers(column, 0);
    values[metric.name] = column;
  }
  return { profile: { count, blocks, parent, block, callsTree, edges, values }, head, stored: new StoredAnswers(bytes.json()) };
}

async function unpack(text: string): Promise<Uint8Array> {
  const letters = atob(text), packed = new Uint8Array(letters.length);
  for (let i = 0; i < packed.length; i++) packed[i] = letters.charCodeAt(i);
  const inflate = new DecompressionStream("deflate"), into = inflate.writable.getWriter();
  into.write(packed).catch(() => {}); // the reader gets this error, too
  into.close().catch(() => {});
  return new Uint8Array(await new Response(inflate.readable).arrayBuffer());
}

const all = (items: Items, key: string): string[] => items.filter(([k, v]) => k === key && v).map(([, v]) => v);
const one = (items: Items, key: string): string => all(items, key)[0] || "";
const pathOf = (text: string): number[] => text.split(".").filter(Boolean).map(Number);
const blocksOf = (text: string): number[] => text.split(",").map((part) => Number(part.replace("#", "")));

export class Embedded implements Source {
  live = false;
  private ready: Promise<All>;
  private parts = new Map<string, Part>();

  constructor(text: string) {
    this.ready = unpack(text).then(read);
  }

  async ask(route: string, items: Items): Promise<any> {
    const { profile: whole, head, stored } = await this.ready;
    const answer = stored.count ? stored.answer(route, items) : undefined;
    if (answer) return answer;
    const metric = one(items, "metric") || head.metric, transforms = all(items, "transform"), profile = transformed(whole, transforms);
    const query: Query = {
      metric,
      unit: head.metrics.find((m: any) => m.name === metric)?.unit || "",
      focus: one(items, "focus") ? blocksOf(one(items, "focus")) : [],
      drops: all(items, "drop").map(blocksOf),
      top: Number(one(items, "top") || 0),
    };
    const number = (key: string, otherwise: number) => Number(one(items, key) || otherwise);
    switch (route) {
      case "captures": return [this.file(head, stored.count)];
      case "blocks": return one(items, "ids").split(",").map((id) => profile.blocks[Number(id)]).filter(Boolean);
      case "measured": return head.measured;
      case "report": return { ...head, ...this.report(profile, query, items) };
      case "steps": return engine.steps(profile, query);
      case "sequences": return engine.sequences(profile, query);
      case "match": return engine.match(profile, query, one(items, "text"));
      case "flame": return flame(this.part(profile, query, one(items, "callers") === "1", transforms), query, number("root", 0), pathOf(one(items, "zoom")), number("width", 1600), one(items, "callers") === "1", number("levels", 0));
      case "graph": return engine.graph(profile, query, number("nodes", 40));
      case "source": {
        const its = engine.source(profile, query, number("block", 0));
        return { ...its, ...(its.file ? stored.source(its.file) : {}) };
      }
      default: throw new Error("this page does not have these figures; cairn view shows them");
    }
  }

  private file(head: any, spans: number) {
    const path: string = head.capture;
    return {
      path, name: path.slice(path.lastIndexOf("/") + 1), generation: 1, state: head.state === "running" ? "ended" : head.state,
      warnings: head.warnings || [], foreign: false, spans, metric: head.metric,
      metrics: head.metrics.filter((m: any) => m.total > 0 && (m.name !== "calls" || head.calls_counted || head.metric === "calls")).map(({ name, unit, total, sampling }: any) => ({ name, unit, total, ...(sampling ? { sampling } : {}) })),
    };
  }

  private report(profile: Profile, query: Query, items: Items) {
    return one(items, "view") === "flat"
      ? engine.flat(profile, query, one(items, "sort") || "self")
      : { sequence: engine.neighbours(profile, query) };
  }

  private part(profile: Profile, query: Query, callers: boolean, transforms: string[]): Part {
    const key = JSON.stringify([query.metric, query.focus, query.drops, transforms, callers]);
    let its = this.parts.get(key);
    if (!its) {
      its = part(profile, query, callers);
      if (this.parts.size > 8) this.parts.clear();
      this.parts.set(key, its);
    }
    return its;
  }
}
