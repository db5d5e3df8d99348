// SPDX-License-Identifier: MIT
// A source file with the costs of its functions, at their lines.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import * as color from "./color";
import { useAnswer } from "./data";
import { count, figure, share } from "./format";
import { BlockName, Cost, Drop, Figure, Named, Place, Problem, Waiting, sourceOf } from "./parts";
import { scope, to } from "./route";
import { matches } from "./search";

interface Row {
  block: any;
  calls: number;
  self: number;
  inclusive: number;
}

// Groups blocks by line, costliest first. Blocks on one line (branches, instances of a template)
// have separate figures, which may overlap.
function byLine(rows: Row[]): Map<number, Row[]> {
  const lines = new Map<number, Row[]>();
  for (const row of rows) {
    const at = lines.get(row.block.line) || [];
    at.push(row);
    lines.set(row.block.line, at);
  }
  for (const at of lines.values()) at.sort((a, b) => b.inclusive - a.inclusive || b.calls - a.calls || a.block.id - b.block.id);
  return lines;
}

// The files, by the self cost of their functions.
function FilesPage({ place, search }: { place: Place; search: string }) {
  const { route, metric, unit } = place;
  const { data, error } = useAnswer("report", [...scope(route), ["view", "flat"], ["sort", "self"], ["top", "0"]], place.file.generation);
  const files = useMemo(() => {
    const all = new Map<string, { file: string; self: number; calls: number; blocks: number; first: any }>();
    for (const row of data ? data.flat : []) {
      if (!row.block.file || (search && !matches(row.block, search))) continue;
      const its = all.get(row.block.file) || { file: row.block.file, self: 0, calls: 0, blocks: 0, first: row.block };
      its.self += row.self[metric];
      its.calls += row.calls;
      its.blocks++;
      all.set(row.block.file, its);
    }
    return [...all.values()].sort((a, b) => b.self - a.self || b.calls - a.calls);
  }, [data, metric, search]);
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Reading the files' names" />;
  if (!files.length) return <p class="note">{search ? "No function matches the search." : "No function has a known source file."}</p>;
  const whole = data.metrics.find((one: any) => one.name === metric)?.total || 0;
  return (
    <table class="blocks stacked files">
      <caption class="unseen">Files by the self cost of their {search ? "matching " : ""}functions</caption>
      <thead><tr><th scope="col" class="figure" aria-sort="descending">self</th><th scope="col" class="figure" data-what="calls">calls</th><th scope="col" class="figure">functions</th><th scope="col">file</th></tr></thead>
      <tbody>{files.slice(0, 500).map((row) => (
        <tr data-file={row.file}>
          <Cost what="self" value={row.self} whole={whole} unit={unit} />
          <Figure what="calls" value={row.calls} unit="" />
          <Figure what="blocks" value={row.blocks} unit="" />
          <th scope="row"><a class="name" href={sourceOf(place, row.first)}>{row.file}</a></th>
        </tr>))}
      </tbody>
    </table>
  );
}

const AT_A_LINE = 12; // limit on blocks shown at a line: a template may have hundreds

// The cost of one block, beside its source line, or beside its name if it is not the line's first
// block.
function Line({ row, place, most, number, children, chosen, search, named }: {
  row?: Row; place: Place; most: number; number?: number; children: ComponentChildren; chosen?: boolean; search: string; named?: boolean;
}) {
  const { unit, route } = place, here = useRef<HTMLTableRowElement>(null);
  useEffect(() => { if (chosen) here.current?.scrollIntoView({ block: "center" }); }, [chosen]);
  const found = row && search && matches(row.block, search);
  return (
    <tr class={(chosen ? "here" : "") + (found ? " found" : "") + (number ? "" : " also")} ref={here} data-line={number} data-block={row?.block.id}>
      <td class="figure" data-what="inclusive" data-value={row?.inclusive || 0}>{row?.inclusive ? figure(row.inclusive, unit) : ""}</td>
      <td class="figure" data-what="self" data-value={row?.self || 0} style={row?.self ? { background: color.heat(Math.pow(row.self / most, 0.5)) } : {}}>{row?.self ? figure(row.self, unit) : ""}</td>
      <td class="figure" data-what="calls" data-value={row?.calls || 0}>{row?.calls ? count(row.calls) : ""}</td>
      <td class="line">{row && number ? <a href={to(route, { page: "callers", focus: [row.block.id] })} aria-label={"line " + number + ", " + row.block.name}>{number}</a> : number || ""}</td>
      <td class="text">{children}{row && named && <> <a class="its" href={to(route, { page: "callers", focus: [row.block.id] })}><Named block={row.block} /></a></>}</td>
    </tr>
  );
}

function Text({ lines, blocks, place, block, search }: { lines: string[]; blocks: Row[]; place: Place; block: string; search: string }) {
  const most = blocks.reduce((all, row) => Math.max(all, row.self), 1), at = byLine(blocks);
  const same = { place, most, search }, is = (row: Row | undefined) => Boolean(row && String(row.block.id) === block);
  const costs = (row: Row) => row.self || row.inclusive || row.calls || is(row);
  const elsewhere = blocks.filter((row) => !(row.block.line >= 1 && row.block.line <= lines.length) && costs(row));
  return (
    <tbody>
      {lines.map((text, i) => {
        const rows = (at.get(i + 1) || []).filter((row, j) => !j || costs(row)), shown = rows.filter((row, j) => j < AT_A_LINE || is(row));
        return [
          <Line {...same} row={rows[0]} number={i + 1} chosen={is(rows[0])} named={rows.length > 1}>{text || " "}</Line>,
          ...shown.slice(1).map((row) => <Line {...same} row={row} chosen={is(row)} named>{""}</Line>),
          rows.length > shown.length && <Line {...same}>{count(rows.length - shown.length)} more functions at this line</Line>,
        ];
      })}
      {elsewhere.length > 0 && <tr class="section"><th colSpan={5} scope="rowgroup">functions at lines that the file does not have</th></tr>}
      {elsewhere.slice(0, 200).map((row) => <Line {...same} row={row} chosen={is(row)} named>{""}</Line>)}
    </tbody>
  );
}

export function SourcePage({ place, search }: { place: Place; search: string }) {
  const { route, unit } = place;
  const block = route.rest.block;
  const { data, error } = useAnswer(block ? "source" : null, [...scope(route), ["block", block || "0"]], place.file.generation);
  if (!block) return <FilesPage place={place} search={search} />;
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Reading the source" />;
  const whole = data.blocks.reduce((all: number, row: Row) => all + row.self, 0);
  const chosen = data.blocks.find((row: Row) => String(row.block.id) === block);
  const found: Row[] = data.blocks.filter((row: Row) => !search || matches(row.block, search));
  return (
    <>
      <p class="note back"><a href={to(route, { rest: {} })}>all files</a></p>
      <h2 class="file">{data.file || "no file"}<small>{figure(whole, unit)} {unit === "nanoseconds" ? "of " + place.metric : place.metric}, self cost of its functions</small></h2>
      {data.lines ? (
        <div class="code">
          <table>
            <caption class="unseen">{data.file}</caption>
            <thead>
              <tr><th scope="col" class="figure">total</th><th scope="col" class="figure">self</th><th scope="col" class="figure" data-what="calls">calls</th><th scope="col" class="figure">line</th><th scope="col">source</th></tr>
            </thead>
            <Text lines={data.lines} blocks={data.blocks} place={place} block={block} search={search} />
          </table>
        </div>
      ) : (
        <>
          <p class="note">The text is not shown: {data.reason}.</p>
          <table class="blocks stacked">
            <thead><tr><th scope="col" class="figure">total</th><th scope="col" class="figure">self</th><th scope="col" class="figure" data-what="calls">calls</th><th scope="col">function</th><td /></tr></thead>
            <tbody>
              {found.sort((a: Row, b: Row) => b.self - a.self || b.inclusive - a.inclusive || b.calls - a.calls).map((row: Row) => (
                <tr>
                  <Figure what="inclusive" value={row.inclusive} unit={unit} />
                  <Cost what="self" value={row.self} whole={whole} unit={unit} />
                  <Figure what="calls" value={row.calls} unit="" />
                  <th scope="row"><BlockName block={row.block} place={place} /></th>
                  <td class="acts"><Drop block={row.block} place={place} /></td>
                </tr>
              ))}
            </tbody>
          </table>
          {chosen && <p class="note">{chosen.block.name}: {share(chosen.self, whole)} of the file.</p>}
        </>
      )}
    </>
  );
}
