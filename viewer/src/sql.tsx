// SPDX-License-Identifier: MIT
// SQL over the file, as cairn query answers it, with the schema beside it. Results lead to spans and
// functions.
import { useState } from "preact/hooks";
import { isLive, useAnswer } from "./data";
import { count } from "./format";
import { Place, Problem, Waiting, useFirst } from "./parts";
import { go, to } from "./route";

const ROWS = "500";
const examples = (metric: string, spans: boolean): [string, string][] => [
  ["functions by self cost", `select name, calls, ${metric}, block from functions order by ${metric} desc limit 20`],
  ...(spans ? [
    ["durations", "select name, count, ms(total), ms(median), ms(p99), ms(max), block from block_figures where count > 0 order by total desc"],
    ["slowest spans", "select id, name, ms(duration), ancestry(id) from spans order by duration desc limit 20"],
  ] as [string, string][] : []),
];

export function SqlPage({ place }: { place: Place }) {
  const { route, file } = place, asked = route.rest.q || "", [text, setText] = useState(asked);
  const schema = useAnswer<any[]>(isLive() ? "schema" : null, []);
  const { data, error, waiting } = useAnswer<any>(asked && isLive() ? "sql" : null, [["file", String(route.file)], ["q", asked], ["top", ROWS]], file.generation);
  if (!isLive()) return <p class="note">A page in one file has no SQL; cairn view and cairn query have.</p>;
  const run = (sql: string) => go(to(route, { rest: { q: sql } }));
  const insert = (name: string) => setText((before) => before + (before && !/[\s(,.]$/.test(before) ? " " : "") + name);
  return (
    <div class="with-table sql">
      <div>
        <form onSubmit={(event) => { event.preventDefault(); run(text.trim()); }}>
          <textarea aria-label="Query in SQL" rows={5} spellcheck={false} value={text} placeholder="select …"
            onInput={(event) => setText((event.target as HTMLTextAreaElement).value)}
            onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(text.trim()); } }} />
          <div class="tools">
            <button type="submit">run</button> <span class="note">Ctrl Enter. Reads only, at most 5 seconds and {ROWS} rows.</span>
            {examples(["ticks", "wall", "cpu"].includes(place.metric) ? place.metric : "calls", Boolean(file.spans)).map(([name, sql]) => <button type="button" onClick={() => { setText(sql); run(sql); }}>{name}</button>)}
          </div>
        </form>
        {asked && (error ? <Problem text={error} /> : waiting && !data ? <Waiting what="Running the query" /> : data && <Result place={place} data={data} sql={asked} />)}
      </div>
      <aside class="beside-table schema" aria-label="Tables" tabIndex={0} role="region">
        {schema.data?.map((table) => (
          <details>
            <summary><span class="name">{table.name}</span> <span class="dim">{table.kind}: {table.says}</span></summary>
            <p class="acts"><button type="button" class="choose" onClick={() => insert(table.name)}>insert its name</button></p>
            <dl>{table.columns.map((column: any) => <><dt><button type="button" class="choose name" onClick={() => insert(column.name)}>{column.name}</button> <span class="dim">{column.type}</span></dt><dd class="dim">{column.says}</dd></>)}</dl>
          </details>
        ))}
      </aside>
    </div>
  );
}

// Numbers of spans are the column id of spans and slowest, and any column called span.
function linkOf(place: Place, sql: string, columns: string[], row: any[], i: number): string {
  const name = columns[i].toLowerCase(), value = row[i], blocks = columns.findIndex((one) => one.toLowerCase() === "block");
  const spans = /\b(spans|slowest)\b/i.test(sql) && !/\b(contexts|blocks|edges)\b/i.test(sql);
  if (Number.isInteger(value) && (name === "span" || (name === "id" && spans))) return to(place.route, { page: "timeline", rest: { span: String(value) } });
  if (name === "id" && /\bfrom\s+blocks\b/i.test(sql) && value > 0) return to(place.route, { page: "callers", focus: [value], rest: {} });
  if ((name === "block" || (name === "name" && blocks >= 0)) && Number.isInteger(row[blocks]) && row[blocks] > 0)
    return to(place.route, { page: "callers", focus: [row[blocks]], rest: {} });
  return "";
}

function Result({ place, data, sql }: { place: Place; data: any; sql: string }) {
  const rows = useFirst<any[]>(data.rows);
  return (
    <>
      <table class="blocks" data-what="result">
        <caption class="unseen">Result</caption>
        <thead><tr>{data.columns.map((name: string) => <th scope="col">{name}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr>{row.map((value, i) => {
              const link = linkOf(place, sql, data.columns, row, i), text = value === null ? "null" : typeof value === "number" ? count(value) : String(value);
              return <td class={typeof value === "number" ? "figure" : value === null ? "dim" : ""} data-value={value ?? ""}>{link ? <a href={link}>{text}</a> : <bdi>{text}</bdi>}</td>;
            })}</tr>
          ))}
        </tbody>
      </table>
      <p class="note">{count(data.rows.length)} {data.rows.length === 1 ? "row" : "rows"}{data.more ? "; there are more" : ""}</p>
    </>
  );
}
