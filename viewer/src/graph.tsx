// SPDX-License-Identifier: MIT
// The call graph, laid out by dagre.
import { Graph, layout } from "@dagrejs/dagre";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import * as color from "./color";
import { Block, useAnswer, useStill } from "./data";
import { base, count, figure, share } from "./format";
import { Few, Named, Place, Problem, Waiting } from "./parts";
import { scope, to } from "./route";
import { likelyOf } from "./sampling";

interface Node {
  block: Block;
  calls: number;
  self: number;
  inclusive: number;
}

interface Arrow {
  caller: number;
  callee: number;
  calls: number;
  inclusive: number;
}

// A graph that fits only at a scale below LEAST is shown at READABLE.
const LEAST = 0.55, READABLE = 0.75;
const LETTER = 7.3, LONGEST = 34;
const HEADS = [8, 11, 14, 17]; // lengths of arrow heads, three times the arrows' widths
const cut = (text: string): string => (text.length > LONGEST ? text.slice(0, LONGEST - 1) + "…" : text);

// Drops arrows with negligible cost, except one into each block.
function worth(arrows: Arrow[], total: number): Arrow[] {
  const led = new Set<number>();
  return arrows.filter((arrow) => {
    const keep = arrow.inclusive >= total * 0.005 || !led.has(arrow.callee);
    led.add(arrow.callee);
    return keep;
  });
}

// Returns the names of the blocks; blocks with equal names get their location, too.
function titlesOf(nodes: Node[]): Map<number, string> {
  const times = new Map<string, number>();
  for (const { block } of nodes) times.set(block.name, (times.get(block.name) || 0) + 1);
  return new Map(nodes.map(({ block }) => {
    const where = block.file ? " " + base(block.file) + (block.line ? ":" + block.line : "") : "";
    return [block.id, cut(block.name) + (times.get(block.name)! > 1 ? cut(where) : "")];
  }));
}

function place(nodes: Node[], arrows: Arrow[], titles: Map<number, string>) {
  const graph = new Graph({ multigraph: false });
  graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 40, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) {
    const own = arrows.some((arrow) => arrow.caller === node.block.id && arrow.callee === node.block.id);
    const letters = Math.max(titles.get(node.block.id)!.length, own ? 27 : 18);
    graph.setNode(String(node.block.id), { width: letters * LETTER + 22, height: 46 });
  }
  for (const arrow of arrows)
    if (arrow.caller !== arrow.callee)
      graph.setEdge(String(arrow.caller), String(arrow.callee), { width: 76, height: 14, labelpos: "c" });
  layout(graph);
  return graph;
}

function curve(points: { x: number; y: number }[]): string {
  let path = `M${points[0].x},${points[0].y}`;
  for (let i = 1; i < points.length - 1; i++) {
    const end = i + 2 === points.length ? points[i + 1] : { x: (points[i].x + points[i + 1].x) / 2, y: (points[i].y + points[i + 1].y) / 2 };
    path += `Q${points[i].x},${points[i].y} ${end.x},${end.y}`;
  }
  if (points.length === 2) path += `L${points[1].x},${points[1].y}`;
  return path;
}

export function GraphPage({ place: at, search }: { place: Place; search: string }) {
  const { route } = at;
  const nodes = route.rest.nodes || "30";
  const { data, error, waiting } = useAnswer<any>("graph", [...scope(route), ["nodes", nodes]], at.file.generation);
  const drawn = useMemo(() => {
    if (!data || !data.nodes.length) return null;
    const arrows = worth(data.arrows, data.total), titles = titlesOf(data.nodes);
    return { arrows, titles, graph: place(data.nodes, arrows, titles) };
  }, [data]);
  return useStill(waiting, () => error ? <Problem text={error} /> : data ? <Shown data={data} drawn={drawn} at={at} search={search} />
    : <Waiting what="Laying out the call graph" />);
}

function Shown({ data, drawn, at, search }: { data: any; drawn: any; at: Place; search: string }) {
  const { route } = at, nodes = route.rest.nodes || "30";
  const set = (n: number) => to(route, { rest: { ...route.rest, nodes: String(n) } });
  return (
    <>
      <div class="tools" role="toolbar" aria-label="Call graph">
        <span class="group"><b>functions</b>
          {[15, 30, 60, 120].map((n) => <a href={set(n)} aria-current={nodes === String(n)}>{n}</a>)}
        </span>
        {data.hidden > 0 && <span class="note">{count(data.hidden)} cheaper {data.hidden === 1 ? "function is" : "functions are"} not drawn</span>}
      </div>
      {drawn ? <Drawing data={data} drawn={drawn} at={at} search={search} /> : <p class="note">No function has any cost here.</p>}
    </>
  );
}

function Drawing({ data, drawn, at, search }: { data: any; drawn: any; at: Place; search: string }) {
  const { graph, arrows, titles } = drawn;
  const { width, height } = graph.graph();
  const own = new Map<number, Arrow>(arrows.filter((a: Arrow) => a.caller === a.callee).map((a: Arrow) => [a.caller, a]));
  const most = data.nodes.reduce((all: number, node: Node) => Math.max(all, node.self), 1);
  const frame = useRef<HTMLDivElement>(null), [scale, setScale] = useState(0), held = useRef<[number, number, number, number] | null>(null);
  const [near, setNear] = useState<Node | null>(null);
  // A graph that is slightly too wide is shrunk to fit. Otherwise the costliest part is shown
  // first.
  const toFit = () => Math.min(1, (frame.current!.clientWidth - 2) / width);
  useLayoutEffect(() => {
    const fit = toFit();
    setScale(fit < LEAST ? READABLE : fit);
  }, [drawn]);
  useLayoutEffect(() => {
    if (!scale || !data.nodes.length) return;
    const view = frame.current!, first = graph.node(String(data.nodes[0].block.id));
    view.scrollLeft = first.x * scale - view.clientWidth / 2;
    view.scrollTop = first.y * scale - view.clientHeight / 3;
  }, [drawn, scale > 0]);
  const resize = (next: number) => {
    const view = frame.current!, x = (view.scrollLeft + view.clientWidth / 2) / scale, y = (view.scrollTop + view.clientHeight / 2) / scale;
    const now = Math.max(0.05, Math.min(3, next));
    setScale(now);
    requestAnimationFrame(() => {
      view.scrollLeft = x * now - view.clientWidth / 2;
      view.scrollTop = y * now - view.clientHeight / 2;
    });
  };
  const key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") resize(scale * 1.25);
    else if (event.key === "-") resize(scale / 1.25);
    else if (event.key === "0") resize(toFit());
    else return;
    event.preventDefault();
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    resize(scale * Math.exp(-event.deltaY / 400));
  };
  // A box follows its link only if the pointer did not drag.
  const dragged = useRef(false);
  const move = (event: PointerEvent) => {
    if (!held.current || !event.buttons) return;
    const [x, y, left, top] = held.current;
    if (!dragged.current && Math.hypot(event.clientX - x, event.clientY - y) < 5) return;
    if (!dragged.current) frame.current!.setPointerCapture(event.pointerId);
    dragged.current = true;
    frame.current!.scrollLeft = left - (event.clientX - x);
    frame.current!.scrollTop = top - (event.clientY - y);
  };
  return (
    <div class="drawing">
      <div class="zoom group" role="toolbar" aria-label="Size">
        <button type="button" onClick={() => resize(scale * 1.25)} aria-label="Larger">+</button>
        <button type="button" onClick={() => resize(scale / 1.25)} aria-label="Smaller">−</button>
        <button type="button" onClick={() => resize(toFit())}>all</button>
      </div>
      <div class="graph" ref={frame} tabIndex={0} role="group" aria-label="Call graph; arrows move it, plus and minus resize it, Tab goes from function to function" onKeyDown={key} onWheel={wheel}
        onClickCapture={(event) => { if (dragged.current) { event.preventDefault(); event.stopPropagation(); } dragged.current = false; }} onDragStart={(event) => event.preventDefault()}
        onPointerDown={(event) => { dragged.current = false; held.current = [event.clientX, event.clientY, frame.current!.scrollLeft, frame.current!.scrollTop]; }} onPointerMove={move} onPointerUp={() => { held.current = null; }}>
      <svg style={{ width: Math.round(width * (scale || 1)) + "px" }} viewBox={`0 0 ${width} ${height}`} role="group"
        aria-label={"Call graph of " + data.nodes.length + " functions"}>
        <defs>
          {HEADS.map((size, i) => (
            <marker id={"head" + i} viewBox="0 0 10 10" refX="9" refY="5" markerWidth={size} markerHeight={size} markerUnits="userSpaceOnUse" orient="auto">
              <path d="M0,1L10,5L0,9z" class="head" />
            </marker>
          ))}
        </defs>
        {arrows.filter((arrow: Arrow) => arrow.caller !== arrow.callee).map((arrow: Arrow) => {
          const edge = graph.edge(String(arrow.caller), String(arrow.callee));
          const part = data.total ? arrow.inclusive / data.total : 0, wide = 0.8 + 4.5 * Math.sqrt(part);
          return (
            <g class="edge" data-caller={arrow.caller} data-callee={arrow.callee}>
              <path d={curve(edge.points)} style={{ strokeWidth: wide.toFixed(2) }} marker-end={`url(#head${HEADS.findIndex((size, i) => size >= 3 * wide || i === HEADS.length - 1)})`}>
                <title>{count(arrow.calls) + " calls, " + figure(arrow.inclusive, at.unit)}</title>
              </path>
              {part >= 0.005 && (
                <text x={edge.x} y={edge.y + 4} text-anchor="middle" data-value={arrow.inclusive}>{figure(arrow.inclusive, at.unit)}</text>
              )}
            </g>
          );
        })}
        {data.nodes.map((node: Node) => {
          const box = graph.node(String(node.block.id));
          const found = search && (node.block.name + " " + node.block.file).toLowerCase().includes(search.toLowerCase());
          const loop = own.get(node.block.id);
          const shown = (likelyOf(at, node.inclusive) ? "~" : "") + figure(node.inclusive, at.unit) + " · " + share(node.inclusive, data.total) + (loop ? " · ↺ " + count(loop.calls) : "");
          return (
            <a class={"node" + (found ? " found" : "")} data-block={node.block.id} data-inclusive={node.inclusive} data-self={node.self} data-calls={node.calls}
              href={to(at.route, { page: "callers", focus: [node.block.id] })}
              onMouseEnter={() => setNear(node)} onFocus={() => setNear(node)} onMouseLeave={() => setNear(null)}
              aria-label={`${titles.get(node.block.id)} ${shown} total, ${figure(node.self, at.unit)} self, ${count(node.calls)} calls`}>
              <rect x={box.x - box.width / 2} y={box.y - box.height / 2} width={box.width} height={box.height} rx="5"
                style={{ fill: color.heat(Math.pow(node.self / most, 0.6)) }} />
              <text x={box.x} y={box.y - 5} text-anchor="middle" class="name">{titles.get(node.block.id)}</text>{" "}
              <text x={box.x} y={box.y + 13} text-anchor="middle">
                {shown}
              </text>
            </a>
          );
        })}
      </svg>
      </div>
      <p class="note near">
        {near ? <><span class="name"><Named block={near.block} /></span> {near.block.file && <span class="where">{near.block.file}{near.block.line ? ":" + near.block.line : ""}</span>} <Few place={at} value={near.self} />{figure(near.self, at.unit)} self, {count(near.calls)} {near.calls === 1 ? "call" : "calls"}</> : "\u00a0"}
      </p>
      <p class="note legend">
        The colour of a box is its self cost, the figure its total. The figure of an arrow is the total of that call.
      </p>
    </div>
  );
}
