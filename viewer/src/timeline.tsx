// SPDX-License-Identifier: MIT
// Spans over time: lanes with nested spans, and arrows for hand-offs and waits. The server sends at
// most one bar a pixel; until a new answer arrives, the old bars are stretched.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import * as color from "./color";
import { Items, ask, useAnswer } from "./data";
import { Counters } from "./counters";
import { MomentsBelow } from "./moments";
import { count, moment, time } from "./format";
import { AXIS, Bar, Chart, EDGE, LANES, ROW, View, barOf, gutterOf, paint, paintAxis, tops } from "./lanes";
import { LaneList, arrange, orderOf } from "./lane_list";
import { Minimap } from "./minimap";
import { Place, Problem, Waiting } from "./parts";
import { RangePanel, rangeOf, rangeText } from "./range";
import { choiceItems, go, parse, replace, to, write } from "./route";
import { matches as isMatch } from "./search";
import { Span, SpanCard, nameOf, useSpan, valueOf } from "./span";

export function TimelinePage({ place, search }: { place: Place; search: string }) {
  const { route } = place, { rest } = route;
  const base: Items = [["file", String(route.file)], ...Object.entries(choiceItems(route.choice))];
  const asked: Items = [];
  if (rest.from || rest.to) {
    const { from, to: end } = bounds(rest, { from: 0, to: NaN });
    asked.push(["from", String(Math.floor(from))]);
    if (end) asked.push(["to", String(Math.ceil(end))]);
  }
  const items: Items = [...base, ["pixels", "1400"], ["lane", rest.lane || "0"], ["lanes", String(LANES)], ...asked];
  const { data, error, waiting } = useAnswer<Chart>("timeline", items, place.file.generation);
  useEffect(() => {
    if (rest.chosen !== "1" || !rest.span) return;
    ask("span", [...base, ["id", rest.span], ["chosen", "1"]]).then(
      (span) => location.replace(write({ ...route, rest: { ...rest, chosen: "", span: String(span.id) } })), () => {});
  }, [rest.chosen, rest.span]);
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Laying out the spans" />;
  return <Lanes chart={data} place={place} search={search} waiting={waiting} base={base} asked={asked} />;
}

// Limits the window of an address: it begins at 0 or later and is not empty.
function bounds(rest: Record<string, string>, otherwise: View): View {
  const number = (text: string | undefined, other: number) => (text && Number.isFinite(Number(text)) ? Math.max(0, Number(text)) : other);
  const from = number(rest.from, otherwise.from), to = number(rest.to, otherwise.to);
  return to <= from ? { from: to, to: Math.max(to + 100, from) } : { from, to };
}

function Lanes({ chart, place, search, waiting, base, asked }: { chart: Chart; place: Place; search: string; waiting: boolean; base: Items; asked: Items }) {
  const { route } = place, { rest } = route;
  // With chosen iterations, shows their window, unless another was requested.
  const wanted: View = bounds(rest, route.choice ? chart : { from: 0, to: chart.length + 1 });
  const [view, setView] = useState<View>(wanted);
  const canvas = useRef<HTMLCanvasElement>(null), axis = useRef<HTMLCanvasElement>(null);
  const [hovered, setHovered] = useState<Bar | null>(null);
  const [, redraw] = useState(0);
  const bars = useMemo(() => chart.bars.map(barOf), [chart]);
  const first = Math.min(Number(rest.lane || 0) || 0, Math.max(0, chart.lanes.length - 1));
  const order = orderOf(rest), lanesShown = useMemo(() => arrange(chart.lanes, order), [chart, rest.pin, rest.shut, rest.order]);
  const layout = useMemo(() => tops(lanesShown, first), [lanesShown, first]);
  const range = rangeOf(rest.range), [choosingRange, setChoosingRange] = useState(false);
  const setRest = (change: Record<string, string>) => replace(write({ ...route, rest: { ...rest, ...change } }));
  const selected = rest.span ? Number(rest.span) : -1;
  const settle = useRef(0), latest = useRef(view);
  latest.current = view;
  const [brush, setBrush] = useState<[number, number] | null>(null), [pointer, setPointer] = useState<[number, number]>([0, 0]);
  const its = useSpan(route.file, selected, place.file.generation), near = useSpan(route.file, hovered ? hovered.span : -1, place.file.generation);
  const pinned = its && its.id === selected ? { lane: its.lane_number, row: its.row, start: its.start, end: its.start + its.duration } : null;
  // the ancestors of the selected span, and the chain that a link led to
  const around = useMemo(() => new Set<number>([...(its && its.id === selected ? its.ancestors.map((one) => one.id) : []), ...(rest.chain || "").split(".").filter(Boolean).map(Number)]), [its, selected, rest.chain]);
  const choice = JSON.stringify(route.choice);
  useEffect(() => setView(wanted), [rest.from, rest.to, chart.length, choice, route.choice && !rest.from ? chart.from + " " + chart.to : ""]);
  useLayoutEffect(() => {
    if (axis.current) paintAxis(axis.current, view);
    if (canvas.current)
      paint(canvas.current, { chart, bars, view, place: layout, selected, hovered: hovered ? hovered.span : -1, search, around, pinned, chosen: brush, range });
  });
  useEffect(() => {
    const again = () => redraw((n) => n + 1);
    const resized = new ResizeObserver(again);
    resized.observe(canvas.current!);
    const off = color.onTheme(again);
    return () => { resized.disconnect(); off(); };
  }, []);

  const whole = { from: 0, to: chart.length + 1 };
  const fit = (next: View): View => {
    const span = Math.min(whole.to, Math.max(100, next.to - next.from));
    const from = Math.max(0, Math.min(whole.to - span, next.from));
    return { from: Math.floor(from), to: Math.ceil(from + span) };
  };
  // Updates the picture at once; the address, and thus the question to the server, after a pause.
  const show = (next: View, now = false) => {
    const fitted = fit(next);
    setView(fitted);
    clearTimeout(settle.current);
    const write_it = () => {
      const all = !route.choice && fitted.from === 0 && fitted.to >= whole.to;
      const current = parse(location.hash); // something else may have changed since the key or drag
      if ((current.page || route.page) !== route.page || current.file !== route.file) return;
      const href = write({ ...current, page: route.page, rest: { ...current.rest, from: all ? "" : String(fitted.from), to: all ? "" : String(fitted.to) } });
      if (now) go(href);
      else replace(href);
    };
    settle.current = window.setTimeout(write_it, now ? 0 : 120);
  };
  const zoomAt = (part: number, factor: number) => {
    const { from, to: end } = latest.current, at = from + (end - from) * part;
    show({ from: at - (at - from) * factor, to: at + (end - at) * factor });
  };
  const pan = (part: number) => {
    const { from, to: end } = latest.current, by = (end - from) * part;
    show({ from: from + by, to: end + by });
  };
  const partOf = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    return (event.clientX - box.left - gutterOf(box.width)) / (box.width - gutterOf(box.width) - EDGE);
  };
  const at = (event: MouseEvent): Bar | null => {
    const box = canvas.current!.getBoundingClientRect(), y = event.clientY - box.top, x = event.clientX - box.left;
    if (x < gutterOf(box.width)) return null;
    const moment = view.from + partOf(event) * (view.to - view.from), slack = ((view.to - view.from) / (box.width - gutterOf(box.width) - EDGE)) * 2;
    let found: Bar | null = null;
    for (const bar of bars) {
      const top = (layout.at[bar.lane] ?? -1e9) + bar.row * ROW;
      if (bar.row < layout.rows[bar.lane] && y >= top && y < top + ROW && moment >= bar.start - slack && moment <= bar.end + slack) found = bar;
    }
    return found;
  };
  const select = (span: number) => go(write({ ...route, rest: { ...rest, span: span < 0 ? "" : String(span), chain: span < 0 ? "" : rest.chain || "" } }));
  const selectRange = (from: number, to: number) => go(write({ ...route, rest: { ...parse(location.hash).rest, range: rangeText(from, to), rz: "" } }));
  const drag = useRef<{ x: number; part: number; view: View; moved: boolean; choosing: boolean } | null>(null);
  const down = (event: PointerEvent) => {
    drag.current = { x: event.clientX, part: partOf(event), view: latest.current, moved: false, choosing: event.shiftKey || choosingRange };
    canvas.current!.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const held = drag.current, box = canvas.current!.getBoundingClientRect();
    setPointer([event.clientX - box.left, event.clientY - box.top]);
    if (!held) return setHovered(at(event));
    const width = box.width - gutterOf(box.width) - EDGE, by = event.clientX - held.x;
    if (Math.abs(by) > 4) held.moved = true;
    if (held.moved) setHovered(null);
    if (held.choosing) return setBrush([held.x - box.left, event.clientX - box.left]);
    const part = by / width, span = held.view.to - held.view.from;
    if (held.moved) show({ from: held.view.from - part * span, to: held.view.to - part * span });
  };
  const up = (event: PointerEvent) => {
    const held = drag.current;
    drag.current = null;
    setBrush(null);
    if (held && held.moved && held.choosing) {
      const { from, to: end } = held.view, ends = [held.part, partOf(event)].map((part) => from + Math.max(0, Math.min(1, part)) * (end - from));
      if (choosingRange && !event.shiftKey) {
        setChoosingRange(false);
        selectRange(Math.min(...ends), Math.max(...ends));
      } else show({ from: Math.min(...ends), to: Math.max(...ends) }, true);
    }
    if (!held || held.moved) return;
    const bar = at(event);
    if (bar) select(bar.span);
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey && Math.abs(event.deltaX) < Math.abs(event.deltaY)) return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) zoomAt(Math.max(0, Math.min(1, partOf(event))), Math.exp(event.deltaY / 300));
    else pan((event.deltaX || event.deltaY) / 1000);
  };
  useEffect(() => {
    const element = canvas.current!;
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  });
  const step = (by: number) => {
    const inside = bars.filter((bar) => bar.end >= view.from && bar.start < view.to && (!search || isMatch(chart.blocks[bar.block], search))).sort((a, b) => a.start - b.start || a.row - b.row || a.lane - b.lane);
    if (!inside.length) return;
    const now = inside.findIndex((bar) => bar.span === selected);
    select(inside[now < 0 ? 0 : (now + by + inside.length) % inside.length].span);
  };
  const key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (["+", "=", "w"].includes(event.key)) zoomAt(0.5, 0.6);
    else if (["-", "s"].includes(event.key)) zoomAt(0.5, 1 / 0.6);
    else if (["ArrowLeft", "a"].includes(event.key)) pan(-0.15);
    else if (["ArrowRight", "d"].includes(event.key)) pan(0.15);
    else if (event.key === "u" && its && its.ancestors.length) select(its.ancestors[0].id);
    else if (event.key === "Home") show(whole, true);
    else if (event.key === "r" && !chart.sent) selectRange(view.from, view.to);
    else if (event.key === "n") step(1);
    else if (event.key === "p") step(-1);
    else if (event.key === "Escape") select(-1);
    else if (event.key === "Enter" && selected >= 0) zoomTo(selected);
    else return;
    event.preventDefault();
  };
  const zoomTo = async (span: number) => {
    const found = await ask("span", [["file", String(route.file)], ["id", String(span)]]);
    const margin = Math.max(1, found.duration * 0.1);
    show({ from: found.start - margin, to: found.start + found.duration + margin }, true);
  };
  // Scrolls to the span that a link led to.
  useEffect(() => {
    if (!its || its.id !== selected) return;
    const { from, to: end } = latest.current, last = its.start + its.duration, room = end - from;
    const lane = chart.lanes.findIndex((one) => one.lane === its.lane_number);
    const change: Record<string, string> = {};
    if (lane >= 0 && layout.at[its.lane_number] === undefined) change.lane = String(lane);
    if (its.start >= end || last <= from) {
      const next = fit({ from: its.start - room * 0.2, to: its.start + room * 0.8 });
      Object.assign(change, { from: String(next.from), to: String(next.to) });
    }
    if (Object.keys(change).length) location.replace(write({ ...route, rest: { ...rest, ...change } }));
  }, [its]);
  const detail = its && its.id === selected ? its : hovered ? near : null;
  const { counts } = chart, lanes = chart.lanes.filter((lane) => lane.spans).length;
  return (
    <div class="timeline">
      <div class="tools" role="toolbar" aria-label="Timeline">
        <span class="group">
          <button type="button" onClick={() => zoomAt(0.5, 0.5)} aria-label="Zoom in">+</button>
          <button type="button" onClick={() => zoomAt(0.5, 2)} aria-label="Zoom out">−</button>
          <button type="button" onClick={() => show(whole, true)}>all</button>
        </span>
        {!chart.sent && <button type="button" class="button" aria-pressed={choosingRange} onClick={() => setChoosingRange(!choosingRange)} title="Then drag over the lanes. Key r selects what is shown.">select a range</button>}
        {selected >= 0 && <button type="button" class="button" onClick={() => zoomTo(selected)}>zoom to the span</button>}
        <span class="note" data-what="window">{moment(view.from, (view.to - view.from) / 100)} to {moment(view.to, (view.to - view.from) / 100)}, {time(view.to - view.from)}; <span data-what="spans" data-value={counts.spans}>{count(counts.spans)}</span> {counts.spans === 1 ? "span" : "spans"}{route.choice ? " selected" : ""} on {count(lanes)} {lanes === 1 ? "lane" : "lanes"}{waiting ? "; reading…" : ""}</span>
        <span class="keys"><i class="handoff" /> <span data-what="handoffs">{count(counts.handoffs)}</span> {counts.handoffs === 1 ? "hand-off" : "hand-offs"} <i class="waits" /> <span data-what="waits">{count(counts.waits)}</span> {counts.waits === 1 ? "wait" : "waits"}{counts.follows > 0 && <> <i class="follows" /> <span data-what="follows">{count(counts.follows)}</span> {counts.follows === 1 ? "pipeline link" : "pipeline links"}</>}</span>
      </div>
      <div class="split">
        <div class={choosingRange ? "lanes choosing" : "lanes"}>
          <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription="timeline" style={{ height: layout.height + "px" }}
            aria-label="Spans over time. Plus and minus zoom, left and right pan, n and p go to the next and previous span, of the search if there is one, u goes to the parent, Enter zooms to a span, r selects the range of time that is shown, Home shows all."
            onPointerDown={down} onPointerMove={move} onPointerUp={up} onPointerLeave={() => setHovered(null)}
            onDblClick={(event) => { const bar = at(event); if (bar) zoomTo(bar.span); }} onKeyDown={key} />
          <canvas ref={axis} class="axis" aria-hidden="true" style={{ height: AXIS + "px" }} />
          <Minimap base={base} generation={place.file.generation} view={view} length={whole.to}
            move={(middle) => show({ from: middle - (view.to - view.from) / 2, to: middle + (view.to - view.from) / 2 })} />
          {chart.counters > 0 && <Counters base={base} generation={place.file.generation} view={view} asked={asked} />}
          {chart.moments > 0 && <MomentsBelow base={base} generation={place.file.generation} view={view} asked={asked} place={place} />}
          {hovered && !brush && <Tip bar={hovered} chart={chart} span={near} at={pointer} />}
        </div>
        <aside class="side" aria-live="polite">
          {detail ? <SpanCard span={detail} place={place} bar={hovered && hovered.count > 1 && detail !== its ? hovered : null} /> :
            <p class="note">Point at a span to show it, click it to select it. Drag to move, Shift and drag or Ctrl and the wheel to zoom. Select a range of time for its flame graph and durations.</p>}
        </aside>
      </div>
      <LaneList lanes={lanesShown} its={order} change={setRest} />
      {range && !chart.sent && <RangePanel place={place} range={range} search={search} />}
      {layout.shown.length < chart.lanes.length && (
        <p class="note">Lanes {count(first + 1)} to {count(first + layout.shown.length)} of {count(chart.lanes.length)}.{" "}
          {first > 0 && <a href={write({ ...route, rest: { ...rest, lane: String(Math.max(0, first - LANES) || "") } })}>previous lanes</a>}{" "}
          {first + layout.shown.length < chart.lanes.length && <a href={write({ ...route, rest: { ...rest, lane: String(first + layout.shown.length) } })}>next lanes</a>}
        </p>
      )}
      {chart.sent && chart.finest > 0 && <p class="note" data-what="finest">This page has no detail below {time(chart.finest)}: shorter spans are merged. cairn view shows each of them.</p>}
      {chart.arrows_left_out > 0 && <p class="note">{count(chart.arrows_left_out)} more arrows are not drawn; zoom in to see them.</p>}
      <p class="note"><a href={to(route, { page: "slowest" })}>The slowest spans as a table</a></p>
    </div>
  );
}

const LONGEST = 300; // letters
const cut = (text: string): string => (text.length > LONGEST ? text.slice(0, LONGEST) + "…" : text);

// A tooltip at the pointer; the panel beside the picture has the same text.
function Tip({ bar, chart, span, at }: { bar: Bar; chart: Chart; span: Span | null; at: [number, number] }) {
  const its = span && span.id === bar.span && bar.count === 1 ? span : null;
  const name = nameOf(chart.blocks[bar.block], bar.iteration), right = at[0] > 420;
  return (
    <div class="bubble" aria-hidden="true" data-span={bar.span} style={{ top: at[1] + AXIS + 16 + "px", ...(right ? { right: `calc(100% - ${at[0]}px)` } : { left: at[0] + 12 + "px" }) }}>
      <b>{bar.count > 1 ? count(bar.count) + " × " + chart.blocks[bar.block].name + " and others" : name}</b> {time(bar.count > 1 ? bar.busy : bar.end - bar.start)}{its ? ", self " + time(its.self) : ""}{bar.open ? ", still open" : ""}
      {its && its.attributes.map((one) => <div><i>{one.key}</i> <bdi>{cut(valueOf(one))}</bdi></div>)}
    </div>
  );
}
