// SPDX-License-Identifier: MIT
// A range of time that was selected on the timeline: the flame graph and the durations of its spans,
// cut off at its ends.
import { Items, useAnswer } from "./data";
import { FlameGraph } from "./flame";
import { count, time } from "./format";
import { Place, Problem, Waiting } from "./parts";
import { choiceItems, write } from "./route";
import { SpanTable } from "./spans_pages";

export interface Range { since: number; until: number; }

// Parses "1000-2000", in nanoseconds. Returns null for other text, and for an empty range.
export function rangeOf(text: string | undefined): Range | null {
  const found = /^(\d{1,15})-(\d{1,15})$/.exec(text || "");
  const range = found && { since: Number(found[1]), until: Number(found[2]) };
  return range && range.since < range.until ? range : null;
}

export const rangeText = (from: number, to: number): string => Math.max(0, Math.floor(from)) + "-" + Math.max(1, Math.ceil(to));

const HEIGHT = 320;

export function RangePanel({ place, range, search }: { place: Place; range: Range; search: string }) {
  const { route } = place, { rest } = route;
  const items: Items = [["file", String(route.file)], ...Object.entries(choiceItems(route.choice)), ["since", String(range.since)], ["until", String(range.until)]];
  const { data, error } = useAnswer<any>("spans", [...items, ["view", "blocks"], ["top", "100"]], place.file.generation);
  const link = (change: Record<string, string>) => write({ ...route, rest: { ...rest, ...change } });
  if (error) return <Problem text={error} />;
  return (
    <section class="range-panel" aria-label="Selected range of time">
      <h2>{time(range.since)} to {time(range.until)}<small>{time(range.until - range.since)}{data ? ", " + count(data.spans) + (data.spans === 1 ? " span" : " spans") + ", cut off at its ends" : ""}</small></h2>
      <p class="acts"><a href={link({ from: String(range.since), to: String(range.until) })}>zoom to it</a> <a href={link({ range: "", rz: "" })}>deselect it</a></p>
      <FlameGraph place={place} route="span-flame" items={items} coloring="block" search={search} height={HEIGHT}
        zoomed={{ zoom: rest.rz || "", link: (zoom) => link({ rz: zoom }) }} />
      {data ? <SpanTable place={place} data={data} sort="total" caption="Spans in the selected range, by name" /> : <Waiting what="Measuring the spans" />}
    </section>
  );
}
