// SPDX-License-Identifier: MIT
// The search: functions by name and file, and the share of all matches.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Block, Items, useAnswer } from "./data";
import { count, share } from "./format";
import { Place } from "./parts";
import { choiceItems, scope } from "./route";

export const matches = (block: Block, text: string): boolean =>
  block.id > 0 && (block.name + "\n" + block.file).toLowerCase().includes(text.toLowerCase());

// Returns the matching blocks, in pages about contexts; null without a search.
export function useMatches(place: Place, search: string): Set<number> | null {
  const { data } = useAnswer<any>(search ? "match" : null, [...scope(place.route), ["text", search]], place.file.generation);
  return useMemo(() => (search ? new Set<number>(data ? data.blocks : []) : null), [search, data]);
}

interface Found { count: number; value: number; whole: number; of: string; }

// Returns the cost of all paths through the matches, or on pages about spans their self time. Keeps
// the previous result until both answers are there, because a cost and a total of different
// questions give no share.
function useFound(place: Place, search: string, spans: boolean): Found | null {
  const { route, file } = place, contexts = search && !spans, narrowed = route.focus.length || route.drops.length || route.transforms.length;
  const match = useAnswer<any>(contexts ? "match" : null, [...scope(route), ["text", search]], file.generation);
  const part = useAnswer<any>(contexts && narrowed ? "flame" : null, [...scope(route), ["root", "0"], ["width", "1"]], file.generation);
  const items: Items = [["file", String(route.file)], ...Object.entries(choiceItems(route.choice)), ["view", "blocks"], ["top", "0"]];
  const table = useAnswer<any>(search && spans ? "spans" : null, items, file.generation);
  const last = useRef<Found | null>(null);
  if (!search) return (last.current = null);
  if (spans ? table.waiting : match.waiting || (narrowed && part.waiting)) return last.current;
  if (spans) {
    if (!table.data) return (last.current = null);
    const its = table.data.blocks.filter((row: any) => matches(row.block, search));
    const sum = (rows: any[]) => rows.reduce((all, row) => all + row.self, 0);
    return (last.current = { count: its.length, value: sum(its), whole: sum(table.data.blocks), of: " of self time" });
  }
  if (!match.data) return (last.current = null);
  const whole = narrowed && part.data ? part.data.total : file.metrics.find((one) => one.name === place.metric)?.total || 0;
  return (last.current = { count: match.data.count, value: match.data.inclusive, whole, of: "" });
}

// The search field. Without `share`, shows no share of the matches, as two files have no common
// total.
export function Search({ place, spans, share: shared, search, setSearch }: {
  place: Place; spans: boolean; share: boolean; search: string; setSearch: (text: string) => void;
}) {
  const [text, setText] = useState(search), sent = useRef(search);
  useEffect(() => {
    if (text.trim() === search) return;
    const wait = setTimeout(() => setSearch((sent.current = text.trim())), 120);
    return () => clearTimeout(wait);
  }, [text]);
  // Links and the back button change the search text, too.
  useEffect(() => {
    if (search !== sent.current) setText((sent.current = search));
  }, [search]);
  const found = useFound(place, shared ? search : "", spans);
  const key = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      setText("");
      (event.target as HTMLElement).blur();
    } else if (event.key === "Enter")
      document.querySelector<HTMLElement>("main canvas[tabindex], main tbody th a, main a.node.found")?.focus();
  };
  return (
    <form class="search" role="search" onSubmit={(event) => event.preventDefault()}>
      <input id="search" type="search" placeholder="search  /" aria-label="Search functions" value={text} autocomplete="off" spellcheck={false}
        onInput={(event) => setText((event.target as HTMLInputElement).value)} onKeyDown={key} />
      <output for="search" role="status">
        {found && (
          <span data-what="matches" data-value={found.value} data-of={found.whole}>{found.count === 0 ? "nothing" : count(found.count) + (found.count === 1 ? " function, " : " functions, ") + share(found.value, found.whole) + found.of}</span>
        )}
      </output>
    </form>
  );
}
