// SPDX-License-Identifier: MIT
// The call tree: paths from the root, or bottom-up from the functions with self cost, as rows that
// expand. It has the same boxes as the flame graph.
import { useMemo, useState } from "preact/hooks";
import { Box, Flame, layOut, zoomTo } from "./boxes";
import { Items, useAnswer } from "./data";
import { count } from "./format";
import { BlockName, Cost, Figure, Place, Problem, Waiting, transformByKey, useFirst } from "./parts";
import { go, scope, to } from "./route";
import { likelyBelow, likelyOf } from "./sampling";
import { matches } from "./search";

// A row costs at least the whole divided by FINEST; at most ROWS_MAX rows are shown.
const FINEST = "2000", ROWS_MAX = 2000;

const hidden = (box: Box): boolean => box.row < 0;

// Returns the boxes on the path that costs most, as long as one child has half of its parent.
function hottest(root: Box): Set<Box> {
  const open = new Set<Box>([root]);
  for (let box = root; ; ) {
    const next = box.children.reduce<Box | null>((most, one) => (!hidden(one) && (!most || one.inclusive > most.inclusive) ? one : most), null);
    if (!next || 2 * next.inclusive < box.inclusive) return open;
    open.add((box = next));
  }
}

// Returns the matches and their ancestors.
function found(boxes: Box[], search: string): Set<Box> {
  const all = new Set<Box>();
  for (const one of boxes)
    if (!hidden(one) && matches(one.block, search)) for (let box: Box | null = one; box && !all.has(box); box = box.parent) all.add(box);
  return all;
}

// Lists the visible boxes, each before its children, the most expensive child first.
function visible(root: Box, isOpen: (box: Box) => boolean, isShown: (box: Box) => boolean): Box[] {
  const list: Box[] = [], pending = [root];
  for (let box = pending.pop(); box && list.length < ROWS_MAX; box = pending.pop()) {
    list.push(box);
    if (isOpen(box)) pending.push(...box.children.filter(isShown).sort((a, b) => Number(hidden(b)) - Number(hidden(a)) || a.inclusive - b.inclusive));
  }
  return list;
}

export function TreePage({ place, search }: { place: Place; search: string }) {
  const { route } = place, callers = route.rest.callers === "1";
  const items: Items = [...scope(route), ["width", FINEST], ["zoom", route.rest.zoom || ""], ...(callers ? [["callers", "1"] as [string, string]] : [])];
  const { data, error } = useAnswer<Flame>("flame", items, place.file.generation);
  const set = (value: string) => to(route, { rest: { ...route.rest, zoom: "", callers: value } });
  return (
    <>
      <div class="tools" role="toolbar" aria-label="Call tree">
        <span class="group">
          <a href={set("")} aria-current={!callers}>Top-down</a>
          <a href={set("1")} aria-current={callers}>Bottom-up</a>
        </span>
        {route.rest.zoom && <a class="button" href={to(route, { rest: { ...route.rest, zoom: "" } })}>zoom out</a>}
        <span class="note">→ expands a row, ← collapses it, * expands all below it</span>
      </div>
      {error ? <Problem text={error} /> : !data ? <Waiting what="Computing the call tree" />
        : data.total ? <Tree key={JSON.stringify(items)} flame={data} place={place} search={search} /> : <p class="note" data-what="nothing">No {data.metric} was recorded here.</p>}
    </>
  );
}

function Tree({ flame, place, search }: { flame: Flame; place: Place; search: string }) {
  const layout = useMemo(() => layOut(flame), [flame]), hot = useMemo(() => hottest(layout.root), [layout]);
  const [turned, turn] = useState(new Set<number>()); // rows that the user opened or closed
  const those = useMemo(() => (search ? found(layout.boxes, search) : null), [layout, search]);
  const isOpen = (box: Box) => (those ? those.has(box) : hot.has(box)) !== turned.has(box.row);
  const list = useMemo(() => visible(layout.root, isOpen, (box) => !those || those.has(box)), [layout, turned, those]);
  const rows = useFirst(list), numberOf = (row: Element | null | undefined) => Number(row?.getAttribute("data-row"));
  const toggle = (boxes: Box[]) => {
    const next = new Set(turned);
    for (const box of boxes) if (!next.delete(box.row)) next.add(box.row);
    turn(next);
  };
  const key = (event: KeyboardEvent) => {
    const row = (event.target as Element).closest("tr"), box = row && list.find((one) => one.row === numberOf(row));
    if (!box || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowRight" && !isOpen(box) && box.children.length) toggle([box]);
    else if (event.key === "ArrowLeft" && isOpen(box) && box.children.length) toggle([box]);
    else if (event.key === "ArrowLeft" && box.parent)
      row!.parentElement!.querySelector<HTMLElement>(`tr[data-row="${box.parent.row}"] th a, tr[data-row="${box.parent.row}"] button`)?.focus();
    else if (event.key === "*") {
      const below = [box];
      for (let i = 0; i < below.length && i < ROWS_MAX; i++) below.push(...below[i].children.filter((one) => !hidden(one)));
      toggle(below.filter((one) => one.children.length && !isOpen(one)));
    } else if (hidden(box) || !transformByKey(place, box.block, event.key)) return;
    event.preventDefault();
  };
  return (
    <>
      <table class="blocks stacked tree" role="treegrid" aria-label="Call tree" onKeyDown={key}>
        <thead><tr><th scope="col" class="figure" aria-sort="descending">total</th><th scope="col" class="figure">self</th><th scope="col" class="figure" data-what="calls">calls</th><th scope="col">function</th></tr></thead>
        <tbody>
          {rows.map((box) => hidden(box) ? (
            <tr aria-level={box.depth + 1}><Cost what="narrow" value={box.inclusive} whole={flame.total} unit={flame.unit} /><td /><td />
              <th scope="row" style={{ "--depth": box.depth }}><button type="button" class="rest" onClick={() => go(to(place.route, { rest: { ...place.route.rest, zoom: zoomTo(flame, box.parent!) } }))}>{box.block.name}</button></th>
            </tr>
          ) : (
            <tr key={box.row} data-row={box.row} data-block={box.block.id} data-depth={box.depth} aria-level={box.depth + 1} aria-expanded={box.children.length ? isOpen(box) : undefined} class={those && matches(box.block, search) ? "found" : ""}>
              <Cost what="inclusive" value={box.inclusive} whole={flame.total} unit={flame.unit} interval={likelyBelow(place, box.block, box.inclusive)} />
              {flame.callers ? <td /> : <Cost what="self" value={box.self} whole={flame.total} unit={flame.unit} interval={likelyOf(place, box.self)} />}
              {flame.callers ? <td /> : <Figure what="calls" value={box.calls} unit="" />}
              <th scope="row" style={{ "--depth": box.depth }}>
                <div class="stepped">
                  <button type="button" class="twist" tabIndex={box.block.id ? -1 : 0} disabled={!box.children.length} onClick={() => toggle([box])} aria-label={(isOpen(box) ? "Collapse " : "Expand ") + box.block.name}>{box.children.length && isOpen(box) ? "▾" : "▸"}</button>
                  <BlockName block={box.block} place={place} />
                </div>
              </th>
            </tr>
          ))}
        </tbody>
      </table>
      {list.length >= ROWS_MAX && <p class="note">The first {count(ROWS_MAX)} rows are shown; collapse some, or zoom.</p>}
    </>
  );
}
