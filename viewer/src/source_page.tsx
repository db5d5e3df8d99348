// SPDX-License-Identifier: MIT
// A file with what its blocks cost, at their lines.
import { useEffect, useMemo, useRef } from "preact/hooks";
import * as color from "./color";
import { useAnswer } from "./data";
import { count, figure, share } from "./format";
import { BlockName, Cost, Drop, Figure, Place, Problem, Waiting, sourceOf } from "./parts";
import { scope, to } from "./route";

interface Row {
  block: any;
  calls: number;
  self: number;
  inclusive: number;
}

function byLine(rows: Row[]): Map<number, Row[]> {
  const lines = new Map<number, Row[]>();
  for (const row of rows) {
    const at = lines.get(row.block.line) || [];
    at.push(row);
    lines.set(row.block.line, at);
  }
  return lines;
}

// The files of what is looked at, by what their blocks cost themselves.
function FilesPage({ place }: { place: Place }) {
  const { route, metric, unit } = place;
  const { data, error } = useAnswer("report", [...scope(route), ["view", "flat"], ["sort", "self"], ["top", "0"]], place.file.generation);
  const files = useMemo(() => {
    const all = new Map<string, { file: string; self: number; calls: number; blocks: number; first: any }>();
    for (const row of data ? data.flat : []) {
      if (!row.block.file) continue;
      const its = all.get(row.block.file) || { file: row.block.file, self: 0, calls: 0, blocks: 0, first: row.block };
      its.self += row.self[metric];
      its.calls += row.calls;
      its.blocks++;
      all.set(row.block.file, its);
    }
    return [...all.values()].sort((a, b) => b.self - a.self || b.calls - a.calls);
  }, [data, metric]);
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Reading the files' names" />;
  if (!files.length) return <p class="note">No block here says which file it is in.</p>;
  const whole = data.metrics.find((one: any) => one.name === metric)?.total || 0;
  return (
    <table class="blocks files">
      <caption class="unseen">Files by what their blocks cost themselves</caption>
      <thead><tr><th scope="col" class="figure" aria-sort="descending">self</th><th scope="col" class="figure">calls</th><th scope="col" class="figure">blocks</th><th scope="col">file</th></tr></thead>
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

export function SourcePage({ place }: { place: Place }) {
  const { route, unit } = place;
  const block = route.rest.block;
  const { data, error } = useAnswer(block ? "source" : null, [...scope(route), ["block", block || "0"]], place.file.generation);
  const here = useRef<HTMLTableRowElement>(null);
  const chosen = data?.blocks.find((row: Row) => String(row.block.id) === block);
  useEffect(() => { here.current?.scrollIntoView({ block: "center" }); }, [data]);
  if (!block) return <FilesPage place={place} />;
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Reading the source" />;
  const whole = data.blocks.reduce((all: number, row: Row) => all + row.self, 0);
  const most = data.blocks.reduce((all: number, row: Row) => Math.max(all, row.self), 1);
  const lines = byLine(data.blocks);
  return (
    <>
      <p class="note back"><a href={to(route, { rest: {} })}>all files</a></p>
      <h2 class="file">{data.file || "no file"}<small>{figure(whole, unit)} {unit === "nanoseconds" ? "of " + place.metric : place.metric}, its blocks' own</small></h2>
      {data.lines ? (
        <div class="code">
          <table>
            <caption class="unseen">{data.file}</caption>
            <thead>
              <tr><th scope="col" class="figure">self</th><th scope="col" class="figure">inclusive</th><th scope="col" class="figure">calls</th><th scope="col" class="figure">line</th><th scope="col">source</th></tr>
            </thead>
            <tbody>
              {data.lines.map((text: string, i: number) => {
                const rows = lines.get(i + 1);
                const self = rows ? rows.reduce((all, row) => all + row.self, 0) : 0;
                const inclusive = rows ? Math.max(...rows.map((row) => row.inclusive)) : 0;
                const calls = rows ? rows.reduce((all, row) => all + row.calls, 0) : 0;
                return (
                  <tr class={chosen && chosen.block.line === i + 1 ? "here" : ""} ref={chosen && chosen.block.line === i + 1 ? here : undefined}
                    data-line={i + 1}>
                    <td class="figure" data-what="self" data-value={self} style={self ? { background: color.heat(Math.pow(self / most, 0.5)) } : {}}>{self ? figure(self, unit) : ""}</td>
                    <td class="figure" data-what="inclusive" data-value={inclusive}>{rows && inclusive ? figure(inclusive, unit) : ""}</td>
                    <td class="figure" data-what="calls" data-value={calls}>{rows && calls ? count(calls) : ""}</td>
                    <td class="line">{rows && rows[0].block.id
                      ? <a href={to(route, { page: "sequence", focus: [rows[0].block.id] })} aria-label={"line " + (i + 1) + ", " + rows[0].block.name}>{i + 1}</a> : i + 1}</td>
                    <td class="text">{text || " "}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      ) : (
        <>
          <p class="note">The text is not shown: {data.reason}.</p>
          <table class="blocks">
            <thead><tr><th scope="col" class="figure">self</th><th scope="col" class="figure">inclusive</th><th scope="col" class="figure">calls</th><th scope="col">block</th><td /></tr></thead>
            <tbody>
              {[...data.blocks].sort((a: Row, b: Row) => b.self - a.self || b.inclusive - a.inclusive || b.calls - a.calls).map((row: Row) => (
                <tr>
                  <Cost what="self" value={row.self} whole={whole} unit={unit} />
                  <Figure what="inclusive" value={row.inclusive} unit={unit} />
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
