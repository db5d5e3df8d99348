// SPDX-License-Identifier: MIT
// A flame graph with the table of functions beside it. A click in one selects the function in both;
// below are the flame graphs of its callers and of its callees.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Block, Items, fullName, useAnswer } from "./data";
import { Coloring, FlameGraph } from "./flame";
import { count } from "./format";
import { Cost, Named, Place, Problem, Waiting } from "./parts";
import { parse, replace, scope, to, write } from "./route";
import { likelyBelow, likelyOf } from "./sampling";
import { matches } from "./search";

const ROWS = "500", HEIGHT = 260;

// Changes state of the page without a step for the back button.
const setRest = (change: Record<string, string>) => {
  const now = parse(location.hash);
  replace(write({ ...now, rest: { ...now.rest, ...change } }));
};

export function WithFunctions({ place, items, coloring, search }: { place: Place; items: Items; coloring: Coloring; search: string }) {
  const { route } = place, chosen = Number(route.rest.fn || 0), sort = route.rest.by === "self" ? "self" : "total";
  const { data, error } = useAnswer<any>("report", [...scope(route), ["view", "flat"], ["sort", sort], ["top", ROWS]], place.file.generation);
  const rows = useMemo(() => (data ? data.flat.filter((row: any) => !search || matches(row.block, search)) : []), [data, search]);
  const row = rows.find((one: any) => one.block.id === chosen);
  return (
    <>
      <div class="with-table">
        <div>
          <FlameGraph place={place} route="flame" items={items} coloring={coloring} search={search} chosen={chosen}
            choose={(block) => setRest({ fn: block.id ? String(block.id) : "" })} />
        </div>
        {error ? <Problem text={error} /> : data ? <Functions place={place} rows={rows} data={data} sort={sort} chosen={chosen} /> : <Waiting what="Computing the table" />}
      </div>
      {chosen > 0 && <Around place={place} id={chosen} name={row ? fullName(row.block) : "#" + chosen} coloring={coloring} />}
    </>
  );
}

function Functions({ place, rows, data, sort, chosen }: { place: Place; rows: any[]; data: any; sort: string; chosen: number }) {
  const { route, metric, unit } = place, whole = data.metrics.find((m: any) => m.name === metric)?.total || 0;
  const here = useRef<HTMLTableRowElement>(null), frame = useRef<HTMLDivElement>(null);
  // Scrolls the table alone to the selected row.
  useEffect(() => {
    const row = here.current, view = frame.current;
    if (row && view && (row.offsetTop < view.scrollTop || row.offsetTop + row.offsetHeight > view.scrollTop + view.clientHeight))
      view.scrollTop = row.offsetTop - view.clientHeight / 2;
  }, [chosen, rows]);
  const heading = (name: string) => (
    <th scope="col" class="figure" aria-sort={sort === name ? "descending" : "none"}>
      <a href={to(route, { rest: { ...route.rest, by: name === "total" ? "" : name } })}>{name}</a>
    </th>
  );
  return (
    <div class="beside-table" ref={frame} tabIndex={0} role="region" aria-label="Functions">
      <table class="blocks stacked">
        <caption class="unseen">Functions</caption>
        <thead><tr>{heading("total")}{heading("self")}<th scope="col">function</th></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.block.id} data-block={row.block.id} class={row.block.id === chosen ? "here" : ""} ref={row.block.id === chosen ? here : undefined}>
              <Cost what="inclusive" value={row.inclusive[metric]} whole={whole} unit={unit} interval={likelyBelow(place, row.block, row.inclusive[metric])} />
              <Cost what="self" value={row.self[metric]} whole={whole} unit={unit} interval={likelyOf(place, row.self[metric])} />
              <th scope="row"><Choose block={row.block} chosen={row.block.id === chosen} /></th>
            </tr>
          ))}
        </tbody>
      </table>
      {data.hidden > 0 && <p class="note">{count(data.hidden)} more functions: see the page Functions</p>}
    </div>
  );
}

function Choose({ block, chosen }: { block: Block; chosen: boolean }) {
  if (!block.id) return <span class="name"><Named block={block} /></span>;
  return (
    <button type="button" class="choose name" aria-pressed={chosen} title={block.file ? block.file + (block.line ? ":" + block.line : "") : undefined}
      onClick={() => setRest({ fn: chosen ? "" : String(block.id) })}><Named block={block} /></button>
  );
}

function Around({ place, id, name, coloring }: { place: Place; id: number; name: string; coloring: Coloring }) {
  const { route } = place, focused = { ...route, focus: [id] };
  const side = (key: string, title: string, more: Items) => (
    <section data-flame={key} aria-label={title + " of " + name}>
      <h2>{title} of <span class="name">{name}</span></h2>
      <FlameGraph place={{ ...place, route: focused }} route="flame" items={[...scope(focused), ...more]} coloring={coloring} search="" height={HEIGHT}
        zoomed={{ zoom: route.rest[key] || "", link: (zoom) => to(route, { rest: { ...route.rest, [key]: zoom } }) }} />
    </section>
  );
  return (
    <div class="beside">
      {side("callers-zoom", "Callers", [["callers", "1"]])}
      {side("callees-zoom", "Callees", [])}
    </div>
  );
}
