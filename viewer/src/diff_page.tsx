// SPDX-License-Identifier: MIT
// The difference between two files: a table side by side, and a flame graph of both.
import { File, Items, useAnswer } from "./data";
import { base, change, count, figure, share } from "./format";
import { FlameGraph } from "./flame";
import { BlockName, Place, Problem, Waiting, callsCounted } from "./parts";
import { Route, to } from "./route";
import { matches } from "./search";
import { Why } from "./why";

const unzoomed = { zoom: "", "zoom-before": "", "zoom-after": "" };
const SEARCHED_MAX = 20000, ROWS_MAX = 1000;

function Side({ value, most, unit, side }: { value: number; most: number; unit: string; side: string }) {
  return (
    <td class={"cost " + side} data-what={side} data-value={value}>
      <span class="bar" style={{ width: (most ? (100 * value) / most : 0).toFixed(2) + "%" }} aria-hidden="true" />
      <span class="value">{value ? figure(value, unit) : "–"}</span>
    </td>
  );
}

// Returns the two files to compare: the first and the second, unless the address names others.
export function sidesOf(route: Route, files: File[]): [number, number] {
  const side = (text: string | undefined, otherwise: number) => {
    const number = text ? Number(text) : otherwise;
    return Number.isInteger(number) && number >= 0 && number < files.length ? number : Math.min(otherwise, files.length - 1);
  };
  return [side(route.rest.before, 0), side(route.rest.after, 1)];
}

export function DiffPage({ place, search }: { place: Place; search: string }) {
  const { route, files } = place;
  const [before, after] = sidesOf(route, files);
  const sort = route.rest.sort || "self";
  const items: Items = [["before", String(before)], ["after", String(after)]];
  items.push(["metric", place.metric]);
  const generation = (files[before]?.generation || 0) * 1000 + (files[after]?.generation || 0);
  const { data, error } = useAnswer(files.length > 1 ? "diff" : null,
    [...items, ["sort", sort], ["top", search || route.rest.by === "share" ? String(SEARCHED_MAX) : route.rest.top || "60"]], generation);
  if (files.length < 2)
    return <p class="note">Open two files to compare them: <code>cairn view before.cairn after.cairn</code></p>;
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Comparing" />;
  const shares = route.rest.by === "share" && sort !== "calls";
  const set = (rest: Record<string, string>) => to(route, { rest: { ...route.rest, ...rest } });
  const unit = files[before].metrics.find((m) => m.name === data.metric)?.unit || "";
  const what = sort === "total" ? "inclusive" : sort === "calls" ? "calls" : "self", named = what === "inclusive" ? "total" : what;
  const its = what === "calls" ? "" : unit;
  const found = data.blocks.filter((row: any) => !search || [row.before, row.after].some((one) => one && matches(one, search)));
  const part = (row: any, side: "before" | "after"): number => (data.total[side] ? row[what][side] / data.total[side] : 0);
  const moved = (row: any): number => part(row, "after") - part(row, "before");
  const rows = shares ? [...found].sort((a, b) => Math.abs(moved(b)) - Math.abs(moved(a))).slice(0, search ? ROWS_MAX : Number(route.rest.top || "60")) : found;
  const samples = [before, after].map((i) => files[i].metrics.find((m) => m.name === data.metric)?.sampling?.unit || 0);
  const most = data.blocks.reduce((all: number, row: any) => Math.max(all, row[what].before, row[what].after), 1);
  return (
    <>
      <div class="tools" role="toolbar" aria-label="Difference">
        <Choose text="before" files={files} at={before} link={(i) => set({ before: String(i), ...unzoomed })} />
        <Choose text="after" files={files} at={after} link={(i) => set({ after: String(i), ...unzoomed })} />
        <a class="button" href={set({ before: String(after), after: String(before), ...unzoomed })}>swap</a>
        <span class="group">
          <a href={set({ beside: "" })} aria-current={route.rest.beside !== "1"}>as one</a>
          <a href={set({ beside: "1", zoom: "" })} aria-current={route.rest.beside === "1"}>side by side</a>
        </span>
        <span class="group"><b>by</b>
          <a href={set({ by: "", ...unzoomed })} aria-current={!shares}>{unit === "nanoseconds" ? "time" : "cost"}</a>
          <a href={set({ by: "share", sort: sort === "calls" ? "" : sort, ...unzoomed })} aria-current={shares}>share</a>
        </span>
        <span class="group"><b>compare</b>
          {["total", "self", "calls"].filter((name) => name !== "calls" || callsCounted(files[before])).map((name) => <a href={set({ sort: name === "self" ? "" : name })} aria-current={sort === name}>{name}</a>)}
        </span>
      </div>
      <p class="totals">
        <span data-what="before" data-value={data.total.before}>{base(data.before)} <b>{figure(data.total.before, unit)}</b></span>
        <span aria-hidden="true">→</span>
        <span data-what="after" data-value={data.total.after}>{base(data.after)} <b>{figure(data.total.after, unit)}</b></span>
        <span class={data.total.after > data.total.before ? "more" : "less"}>{change(data.total.before, data.total.after)}</span>
        <span class="note">{data.metric}</span>
      </p>
      {data.warnings.map((one: any) => <p class="warning">{base(one.capture)}: {one.text}</p>)}
      {route.rest.beside === "1" && !route.rest["zoom-before"] && !route.rest["zoom-after"] && <p class="note">Both graphs have the same scale.</p>}
      {!data.total.before && !data.total.after ? <p class="note">No function has any cost in either file.</p> : route.rest.beside === "1" ? (
        <div class="beside">
          <Half place={place} file={before} side="before" search={search} set={set} part={widthOf(data.total.before, data.total.after)} />
          <Half place={place} file={after} side="after" search={search} set={set} part={widthOf(data.total.after, data.total.before)} />
        </div>
      ) : (
        <>
          <FlameGraph place={{ ...place, file: { ...place.file, generation } }} route="diff-flame" items={shares ? [...items, ["share", "1"]] : items} coloring="diff" search={search} height={420} />
          <p class="note legend"><span class="key less" /> costs less than before <span class="key more" /> costs more <span class="key chance" /> within chance of sampling; the width is the larger of both {shares ? "shares" : "costs"}</p>
        </>
      )}
      <Why items={items} generation={generation} unit={unit} search={search} />
      <table class="blocks stacked sides">
        <caption class="unseen">Functions by the size of their change</caption>
        <thead>
          <tr><th scope="col" class="figure">{named} before</th><th scope="col" class="figure">{named} after</th><th scope="col" class="figure">change</th><th scope="col" class="figure">relative</th><th scope="col">function</th></tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS_MAX).map((row: any) => {
            const delta = row[what].after - row[what].before;
            const block = row.after || row.before;
            const chance = shares ? isChance(row[what], data.total, samples) : row.chance && what !== "calls" && row.chance[what];
            return (
              <tr class={chance ? "chance" : ""}>
                <Side value={row[what].before} most={most} unit={its} side="before" />
                <Side value={row[what].after} most={most} unit={its} side="after" />
                <td class={"figure " + ((shares ? moved(row) : delta) > 0 ? "more" : "less")} data-what="change" data-value={shares ? moved(row) : delta}
                  title={chance ? "within chance: sampling alone can cause this difference" : ""}>
                  {shares ? points(moved(row)) : (delta > 0 ? "+" : delta < 0 ? "−" : "") + figure(Math.abs(delta), its)}
                </td>
                <td class="figure">{chance ? "within chance" : shares ? share(row[what].before, data.total.before) + " → " + share(row[what].after, data.total.after) : change(row[what].before, row[what].after)}</td>
                <th scope="row"><BlockName block={block} place={{ ...place, route: { ...route, file: row.after ? after : before } }} /></th>
              </tr>
            );
          })}
        </tbody>
      </table>
      {search && <p class="note">{count(rows.length)} of {count(data.blocks.length)} functions match the search{rows.length > ROWS_MAX ? "; the first " + count(ROWS_MAX) + " are shown" : ""}</p>}
      {!search && (shares ? found.length > rows.length : data.hidden > 0) && <p class="more"><a href={set({ top: String(10 * data.blocks.length) })}>{count(shares ? found.length - rows.length : data.hidden)} more rows</a></p>}
    </>
  );
}

// "+1.5 points": a difference of shares.
const points = (moved: number): string => (moved > 0 ? "+" : moved < 0 ? "−" : "") + (100 * Math.abs(moved)).toFixed(2) + " points";

const Z = 1.96; // of a 95 % interval

// As crn_sampling_within_chance in profile/sampling.c, with the costs before multiplied so that both
// totals are equal.
function isChance(row: { before: number; after: number }, total: { before: number; after: number }, samples: number[]): boolean {
  if (!(samples[0] > 0 || samples[1] > 0) || !total.before || !total.after) return false;
  const scale = total.after / total.before, x = row.before * scale, y = row.after;
  const others = Math.max(0, 1 - (x + y) / (2 * total.after));
  return Math.abs(y - x) <= Z * Math.sqrt((x * samples[1] + y * samples[0] * scale) * others);
}

// Both halves have one scale, unless one of them would become too narrow.
const NARROWEST = 0.1;
const widthOf = (its: number, other: number): number => Math.max(NARROWEST, its / Math.max(1, its, other));

// One of the two flame graphs; its boxes lead to its own file. A zoomed one takes the whole width.
function Half({ place, file, side, search, set, part }: {
  place: Place; file: number; side: "before" | "after"; search: string; set: (rest: Record<string, string>) => string; part: number;
}) {
  const its = { ...place, route: { ...place.route, file }, file: place.files[file] }, key = "zoom-" + side;
  const items: Items = [["file", String(file)]];
  items.push(["metric", place.metric]);
  return (
    <section aria-label={side + ": " + its.file.name} data-side={side}>
      <h2>{side}<small>{its.file.name}</small></h2>
      <div class="scaled" style={{ "--part": place.route.rest[key] ? 1 : part }}>
      <FlameGraph place={its} route="flame" items={items} coloring="block" search={search} height={420}
        zoomed={{ zoom: place.route.rest[key] || "", link: (zoom) => set({ [key]: zoom }) }} />
      </div>
    </section>
  );
}

function Choose({ text, files, at, link }: { text: string; files: any[]; at: number; link: (i: number) => string }) {
  return (
    <label class="group"><b>{text}</b>
      <select value={String(at)} onChange={(event) => { location.hash = link(Number((event.target as HTMLSelectElement).value)); }}>
        {files.map((file, i) => <option value={String(i)}>{file.name}</option>)}
      </select>
    </label>
  );
}
