// SPDX-License-Identifier: MIT
// Spans as tables: by block, the slowest, and missing time.
import { Items, useAnswer } from "./data";
import { count, share, time } from "./format";
import { Named, Place, Problem, Waiting } from "./parts";
import { chosenItems, nameOf, valueOf } from "./span";
import { to } from "./route";
import { matches } from "./search";

const itemsOf = (place: Place, more: Items): Items => [["file", String(place.route.file)], ...chosenItems(place.route), ...more];

function Bins({ bins, edges }: { bins: number[]; edges: number[] }) {
  const most = Math.max(1, ...bins);
  return (
    <svg class="bins" width={bins.length * 7} height="20" role="img"
      aria-label={"From " + time(edges[0]) + " to " + time(edges[edges.length - 1])}>
      {bins.map((n, i) => (
        <rect x={i * 7} width="6" y={20 - (n ? Math.max(2, 20 * n / most) : 0)} height={n ? Math.max(2, 20 * n / most) : 0}>
          <title>{count(n) + " spans of " + time(edges[i]) + " to " + time(edges[i + 1])}</title>
        </rect>
      ))}
    </svg>
  );
}

// Selects the spans of a block from the 99th percentile on, for all pages on spans.
const slowestOf = (place: Place, row: any): string =>
  to(place.route, { page: "iterations", rest: {}, choice: { ...bounds(place, row.block.id), of: row.block.id, shortest: row.p99 } });

// Returns the chosen bounds if they are of this block.
const bounds = ({ route }: Place, block: number) => (route.choice && route.choice.of === block ? route.choice : {});

const columns = ["total", "self", "count", "median", "p99", "max"];

// A row for each span name. `sort` is the column's name; without `link` the columns cannot be sorted.
export function SpanTable({ place, data, sort, link, caption }: { place: Place; data: any; sort: string; link?: (name: string) => string; caption: string }) {
  const { route } = place, most = Math.max(1, ...data.blocks.map((row: any) => row.total));
  return (
    <table class="blocks stacked">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>{columns.map((name) => (
          <th scope="col" class="figure" aria-sort={sort === name ? "descending" : "none"}>
            {link ? <a href={link(name)}>{name}</a> : name}
          </th>))}
          <th scope="col">durations</th><th scope="col">span name</th></tr>
      </thead>
      <tbody>
        {data.blocks.map((row: any) => (
          <tr data-block={row.block.id}>
            <td class="cost" data-what="total" data-value={row.total}>
              <span class="bar" style={{ width: ((100 * row.total) / most).toFixed(2) + "%" }} aria-hidden="true" />
              <span class="value">{time(row.total)}</span>
            </td>
            <td class="figure" data-what="self" data-value={row.self}>{time(row.self)}</td>
            <td class="figure" data-what="count" data-value={row.count}>{count(row.count)}</td>
            <td class="figure" data-what="median" data-value={row.median}>{time(row.median)}</td>
            <td class="figure" data-what="p99" data-value={row.p99}>
              {link && row.count > 1 ? <a href={slowestOf(place, row)} title="The spans of at least this duration">{time(row.p99)}</a> : time(row.p99)}
            </td>
            <td class="figure" data-what="max" data-value={row.max}>{time(row.max)}</td>
            <td class="bins"><Bins bins={row.bins} edges={data.edges} /></td>
            <th scope="row"><a class="name" href={to(route, { page: "iterations", rest: { block: String(row.block.id) }, choice: null })}><Named block={row.block} /></a></th>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function SpansPage({ place, search }: { place: Place; search: string }) {
  const { route } = place, sort = route.rest.sort || "total";
  const { data, error } = useAnswer("spans", itemsOf(place, [["view", "blocks"], ["sort", sort], ["top", search ? "0" : route.rest.top || "200"]]), place.file.generation);
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Measuring the spans" />;
  return (
    <>
      <p class="note">{count(data.spans)} spans{data.open ? ", " + count(data.open) + " have not ended" : ""}{data.dropped ? "; " + count(data.dropped) + " were dropped for lack of space" : ""}</p>
      <SpanTable place={place} data={{ ...data, blocks: data.blocks.filter((row: any) => !search || matches(row.block, search)) }} sort={sort} caption="Spans by name"
        link={(name) => to(route, { rest: { ...route.rest, sort: name === "total" ? "" : name } })} />
      {data.hidden > 0 && <p class="more"><a href={to(route, { rest: { ...route.rest, top: String(10 * data.blocks.length) } })}>{count(data.hidden)} more rows</a></p>}
    </>
  );
}

const SEARCHED = 1000; // number of slowest spans that a search covers

// Returns true if the block's name or file, or an attribute, matches the search.
const isFound = (span: any, search: string): boolean =>
  matches(span.block, search) || span.attributes.some((one: any) => (one.key + " " + valueOf(one)).toLowerCase().includes(search.toLowerCase()));

export function SlowestPage({ place, search, block }: { place: Place; search: string; block?: number }) {
  const { route } = place;
  const items = itemsOf(place, [["view", "slowest"], ["top", search ? String(SEARCHED) : route.rest.top || "100"]]);
  if (block !== undefined) items.push(["block", "#" + block]);
  const { data, error } = useAnswer("spans", items, place.file.generation);
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Finding the slowest spans" />;
  const most = data.slowest.length ? data.slowest[0].duration : 1;
  const attributes = data.slowest.some((span: any) => span.attributes.length > 0);
  const rows = search ? data.slowest.filter((span: any) => isFound(span, search)) : data.slowest;
  return (
    <>
    {search && <p class="note">{count(rows.length)} of the {count(data.slowest.length)} slowest match the search by name or attribute</p>}
    <table class="blocks stacked slowest">
      <caption class="unseen">The slowest spans</caption>
      <thead><tr><th scope="col" class="figure">total</th><th scope="col" class="figure">self</th><th scope="col">span</th>{attributes && <th scope="col">attributes</th>}<th scope="col">lane</th><th scope="col">ancestors</th></tr></thead>
      <tbody>
        {rows.map((span: any) => (
          <tr data-span={span.id}>
            <td class="cost" data-what="duration" data-value={span.duration}>
              <span class="bar" style={{ width: ((100 * span.duration) / most).toFixed(2) + "%" }} aria-hidden="true" />
              <span class="value">{time(span.duration)}</span>
            </td>
            <td class="figure" data-value={span.self}>{time(span.self)}</td>
            <th scope="row"><SpanName span={span} place={place} /></th>
            {attributes && <td class="attributes">{span.attributes.map((a: any) => <span title={a.key + " " + valueOf(a)}><i>{a.key}</i> <bdi>{valueOf(a)}</bdi></span>)}</td>}
            <td class="lane" title={span.lane}><bdi>{span.lane || "–"}</bdi></td>
            <td class="path dim">{span.ancestors.slice(0, 4).map((one: any) => <span>{nameOf(one.block, one.iteration)}</span>)}</td>
          </tr>
        ))}
      </tbody>
    </table>
    </>
  );
}

// Within a choice of iterations, gaps have the choice's span numbers; the server converts them.
function spanOf({ route }: Place, span: any): Record<string, string> {
  return span ? { span: String(span.id), ...(route.choice ? { chosen: "1" } : {}) } : {};
}

function SpanName({ span, place }: { span: any; place: Place }) {
  return <a class="name" href={to(place.route, { page: "timeline", rest: { span: String(span.id) } })}>{nameOf(span.block, span.iteration)}</a>;
}

export function MissingPage({ place, search }: { place: Place; search: string }) {
  const { data, error } = useAnswer("spans", itemsOf(place, [["view", "missing"], ["top", search ? String(SEARCHED) : "100"]]), place.file.generation);
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Computing missing time" />;
  const has = (...those: any[]) => !search || those.some((one) => one && matches(one.block, search));
  const named = (one: any) => (one ? nameOf(one.block, one.iteration) : "");
  return (
    <>
      <p class="totals">
        <span>missing <b data-what="missing" data-value={data.missing}>{time(data.missing)}</b></span>
        <span>of <b data-value={data.total}>{time(data.total)}</b></span>
        <span class="more">{share(data.missing, data.total)}</span>
        <span class="note">of root spans' time, in which nothing that was recorded ran, in {count(data.gap_count)} {data.gap_count === 1 ? "gap" : "gaps"}</span>
      </p>
      <table class="blocks stacked">
        <caption>Missing time by span name</caption>
        <thead><tr><th scope="col" class="figure">missing</th><th scope="col" class="figure">of</th><th scope="col" class="figure">spans</th><th scope="col">span name</th></tr></thead>
        <tbody>{data.blocks.filter((row: any) => has(row)).map((row: any) => (
          <tr>
            <td class="cost" data-value={row.missing}><span class="bar" style={{ width: (row.total ? (100 * row.missing) / row.total : 0).toFixed(2) + "%" }} aria-hidden="true" /><span class="value">{time(row.missing)}</span><span class="share">{share(row.missing, row.total)}</span></td>
            <td class="figure">{time(row.total)}</td><td class="figure">{count(row.count)}</td>
            <th scope="row"><a class="name" href={to(place.route, { page: "iterations", choice: null, rest: { block: String(row.block.id) } })}><Named block={row.block} /></a></th>
          </tr>))}
        </tbody>
      </table>
      <table class="blocks stacked">
        <caption>The largest gaps</caption>
        <thead><tr><th scope="col" class="figure">gap</th><th scope="col" class="figure">at</th><th scope="col">in</th><th scope="col">between</th></tr></thead>
        <tbody>{data.gaps.filter((gap: any) => has(gap.span, gap.before, gap.after)).map((gap: any) => (
          <tr>
            <td class="figure" data-value={gap.missing}>{time(gap.missing)}</td>
            <td class="figure"><a href={to(place.route, { page: "timeline", rest: { from: String(Math.max(0, gap.start - gap.missing)), to: String(gap.start + 2 * gap.missing), ...spanOf(place, gap.span) } })}>{time(gap.start)}</a></td>
            <th scope="row">{gap.span ? <a class="name" href={to(place.route, { page: "timeline", rest: spanOf(place, gap.span) })}>{named(gap.span)}</a> : ""}</th>
            <td><bdi>{named(gap.before) || "begin"}</bdi> and <bdi>{named(gap.after) || "end"}</bdi></td>
          </tr>))}
        </tbody>
      </table>
    </>
  );
}
