// SPDX-License-Identifier: MIT
// The pages of flame graphs: contexts, and spans by ancestry.
import { WithFunctions } from "./beside";
import * as color from "./color";
import { Items } from "./data";
import { Coloring, FlameGraph } from "./flame";
import { Place, callsCounted } from "./parts";
import { choiceItems, scope, to } from "./route";

// Spans by ancestry, on all lanes.
export function SpanFlamePage({ place, search }: { place: Place; search: string }) {
  const { route } = place;
  const coloring = (route.rest.color || "block") as Coloring;
  const items: Items = [["file", String(route.file)], ...Object.entries(choiceItems(route.choice))];
  return (
    <>
      <div class="tools" role="toolbar" aria-label="Span tree">
        <Colorings place={place} coloring={coloring} spans />
        {route.rest.zoom && <a class="button" href={to(route, { rest: { ...route.rest, zoom: "" } })}>zoom out</a>}
        <span class="note">Self time of spans, below their parents. Each moment of a lane counts once; lanes are summed.</span>
      </div>
      <FlameGraph place={place} route="span-flame" items={items} coloring={coloring} search={search} />
    </>
  );
}

const colorings: [Coloring, string][] = [["block", "function"], ["file", "file"], ["cost", "self"], ["calls", "calls"]];

function Colorings({ place, coloring, spans }: { place: Place; coloring: Coloring; spans?: boolean }) {
  const { route } = place;
  return (
    <>
      <span class="group"><b>colour</b>
        {colorings.filter(([name]) => name !== "calls" || spans || callsCounted(place.file)).map(([name, text]) => (
          <a href={to(route, { rest: { ...route.rest, color: name === "block" ? "" : name } })} aria-current={coloring === name}>{(spans && ({ block: "span name", calls: "spans" } as Record<string, string>)[name]) || text}</a>
        ))}
      </span>
      {coloring !== "block" && coloring !== "file" && (
        <span class="scale">{coloring === "cost" ? "little" : "few"}
          {[0, 0.2, 0.4, 0.6, 0.8, 1].map((part) => <i style={{ background: color.heat(part) }} />)}
          {coloring === "cost" ? "much" : "many"}</span>
      )}
    </>
  );
}

export function FlamePage({ place, search }: { place: Place; search: string }) {
  const { route } = place;
  const callers = route.rest.callers === "1";
  const coloring = (route.rest.color || "block") as Coloring;
  const items: Items = [...scope(route)];
  if (callers) items.push(["callers", "1"]);
  const set = (key: string, value: string, keep = true) =>
    to(route, { rest: { ...route.rest, ...(keep ? {} : { zoom: "" }), [key]: value } });
  const beside = route.rest.beside === "1";
  return (
    <>
      <div class="tools" role="toolbar" aria-label="Flame graph">
        <span class="group">
          <a href={set("callers", "", false)} aria-current={!callers}>Top-down</a>
          <a href={set("callers", "1", false)} aria-current={callers}>Bottom-up</a>
        </span>
        <span class="group">
          <a href={set("up", "")} aria-current={route.rest.up !== "1"}>icicle</a>
          <a href={set("up", "1")} aria-current={route.rest.up === "1"}>flame</a>
        </span>
        <Colorings place={place} coloring={coloring} />
        <a class="button" href={to(route, { rest: { ...route.rest, beside: beside ? "" : "1", fn: "" } })} aria-pressed={beside} role="button">functions beside it</a>
        {route.rest.zoom && <a class="button" href={set("zoom", "")}>zoom out</a>}
      </div>
      {beside ? <WithFunctions place={place} items={items} coloring={coloring} search={search} />
        : <FlameGraph place={place} route="flame" items={items} coloring={coloring} search={search} />}
    </>
  );
}
