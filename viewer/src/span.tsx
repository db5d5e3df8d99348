// SPDX-License-Identifier: MIT
// One span: its figures, ancestors and attributes.
import { useEffect, useState } from "preact/hooks";
import { Block, ask, fullName } from "./data";
import { base, count, share, time } from "./format";
import { Place } from "./parts";
import { Route, choiceItems, to } from "./route";

export type Iteration = number | string | null; // text if beyond 2^53

export const nameOf = (block: Block, iteration: Iteration): string =>
  fullName(block) + (iteration === null || iteration === undefined ? "" : " #" + iteration);

// text: the value, if it is a number that JSON lacks (nan, inf, -inf)
export interface Attribute { key: string; value: unknown; text?: string; }

export const valueOf = (one: Attribute): string => one.text ?? String(one.value);

export interface Span {
  id: number; block: Block; iteration: Iteration; lane: string; start: number; duration: number; self: number;
  waiting?: number; ready?: number; // ns without a core, if recorded
  open: boolean; handed_off: boolean; attributes: Attribute[];
  ancestors: { id: number; block: Block; iteration: Iteration }[]; more: boolean; row: number; lane_number: number;
}

export function useSpan(file: number, id: number, generation: number): Span | null {
  const [span, setSpan] = useState<Span | null>(null);
  useEffect(() => {
    if (id < 0) return setSpan(null);
    const abort = new AbortController();
    const wait = setTimeout(() => {
      ask("span", [["file", String(file)], ["id", String(id)]], abort.signal).then(setSpan, () => {});
    }, 30);
    return () => { clearTimeout(wait); abort.abort(); };
  }, [file, id, generation]);
  return span;
}

export const spanLink = (route: Route, id: number): string =>
  to(route, { page: "timeline", rest: { ...(route.page === "timeline" ? route.rest : {}), span: String(id) } });

// Returns the query items of the chosen iterations. Answers about a choice can number its spans
// anew: such a span is requested with the choice.
export const chosenItems = (route: Route): [string, string][] => Object.entries(choiceItems(route.choice));

export function SpanCard({ span, place, bar }: { span: Span; place: Place; bar?: { count: number; busy: number; start: number; end: number } | null }) {
  const { route } = place;
  return (
    <div class="span-card" data-span={span.id}>
      {bar && <p class="note">{count(bar.count)} spans are too short to be told apart here: {time(bar.busy)} in all. The longest of them:</p>}
      <h2>{nameOf(span.block, span.iteration)}</h2>
      {span.block.file && <p class="where">{base(span.block.file)}:{span.block.line}</p>}
      <dl>
        <dt>total</dt><dd data-what="duration" data-value={span.duration}>{time(span.duration)}{span.open ? ", still open" : ""}</dd>
        <dt>self</dt><dd data-what="self" data-value={span.self}>{time(span.self)} <i>{share(span.self, span.duration)}</i></dd>
        {span.waiting !== undefined && <><dt>waiting</dt><dd data-what="waiting" data-value={span.waiting}>{time(span.waiting)} <i>{share(span.waiting, span.duration)}</i></dd></>}
        {span.ready !== undefined && <><dt>ready, no core free</dt><dd data-what="ready" data-value={span.ready}>{time(span.ready)} <i>{share(span.ready, span.duration)}</i></dd></>}
        <dt>start</dt><dd>{time(span.start)}</dd>
        <dt>lane</dt><dd>{span.lane || span.lane_number}</dd>
        {span.iteration !== null && <><dt>iteration</dt><dd data-what="iteration">{span.iteration}</dd></>}
        {span.attributes.map((one) => <><dt class="key">{one.key}</dt><dd data-attribute={one.key}>{valueOf(one)}</dd></>)}
      </dl>
      {span.ancestors.length > 0 && <h3>{span.handed_off ? "Handed off by" : "Ancestors"}</h3>}
      <ol class="ancestors">
        {span.ancestors.map((one) => (
          <li><a href={spanLink(route, one.id)} data-ancestor={one.id}>{nameOf(one.block, one.iteration)}</a></li>
        ))}
        {span.more && <li>and more</li>}
      </ol>
      <p class="acts"><a href={to(route, { page: "iterations", choice: null, rest: { block: String(span.block.id) } })}>all of {span.block.name}</a></p>
    </div>
  );
}
