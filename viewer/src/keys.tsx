// SPDX-License-Identifier: MIT
// Keyboard commands, focus handling, and the list of keys.
import { useEffect, useRef } from "preact/hooks";
import { Route, go, to, write } from "./route";

export interface Key { page: string; key: string; text: string; }

const help = (pages: Key[][]): [string, [string, string][]][] => [
  ["Everywhere", [
    ...pages.map((list): [string, string] => ["g and " + list.map((one) => one.key).join(" "), list.map((one) => one.text.toLowerCase()).join(", ")]),
    ["/", "search; Enter goes to the first match"], ["Tab, Enter", "next link, follow the link"],
    ["Alt ←", "back"], ["T", "light, dark or system theme"], ["?", "this list"],
  ]],
  ["Tables", [
    ["↓ ↑ or j k", "next and previous row"], ["Enter", "follow the row's link"], ["d", "exclude the row's function"],
    ["o", "show the row's source line"],
  ]],
  ["Call tree", [["→ ←", "expand the row, collapse it or go to its caller"], ["*", "expand all below the row"]]],
  ["Call tree and flame graphs", [
    ["m x", "merge the function into its callers, collapse it with its callees"], ["M X F", "merge its file, collapse it, focus on it"],
  ]],
  ["Flame graphs", [
    ["↓ ↑ ← →", "move between boxes"], ["Enter, Backspace", "zoom in, zoom out"], ["n p", "next and previous match of the search"],
    ["f d c", "callers and callees of the box, exclude it, bottom-up"],
  ]],
  ["Timeline", [
    ["+ − or w s", "zoom in, zoom out"], ["← → or a d", "scroll left, scroll right"], ["Home", "show all"],
    ["n p", "next and previous span, or match of the search"], ["u", "parent of the span"], ["r", "select the range of time that is shown"], ["Enter", "zoom to the span"], ["Esc", "deselect"],
  ]],
  ["Frames", [["← →", "previous and next result"], ["n p", "next and previous one that missed the deadline"], ["Enter", "its spans on the timeline"]]],
  ["Call graph", [["+ − 0", "larger, smaller, fit"], ["arrows", "scroll"]]],
];

export function Help({ pages, close }: { pages: Key[][]; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-label="Help">
      <button type="button" class="close" onClick={() => dialog.current!.close()}>close</button>
      <section>
        <h2>What each page answers</h2>
        <dl>{tour.map(([question, answer]) => <><dt class="question">{question}</dt><dd>{answer}</dd></>)}</dl>
      </section>
      {help(pages).map(([title, rows]) => (
        <section>
          <h2>{title}</h2>
          <dl>{rows.map(([keys, text]) => <><dt>{keys}</dt><dd>{text}</dd></>)}</dl>
        </section>
      ))}
    </dialog>
  );
}

// The questions that the pages answer.
const tour: [string, string][] = [
  ["Where does the time go?", "Flame graph: a box is a call path, its width the cost. Functions: a table by total or self. Call tree: the paths as rows that expand."],
  ["Who calls this, and what does it call?", "Callers & callees, from any function's name. Bottom-up in the flame graph shows all callers."],
  ["Which path is hot?", "Hot paths lists whole paths by the self cost of their last function; Call graph draws the most expensive functions."],
  ["Which line?", "Source shows the figures beside the lines."],
  ["What happened when?", "Timeline: each lane is a thread or another group of strands of which one runs at a time."],
  ["Which job was slow, and why?", "Slowest and Iterations find it; Explain says which part or attribute its duration is correlated with."],
  ["Which results came too late?", "Frames: the latency from an input to the result made from it, along hand-offs; a bar leads to its spans."],
  ["What would help?", "What if simulates the recording with some parts faster; Biggest wins compares them."],
  ["What is not accounted for?", "Missing time lists gaps in which nothing that was recorded ran."],
  ["What changed?", "Difference compares two files."],
  ["Another question?", "SQL asks the recording itself; its tables are listed beside it."],
];

const rowsThere = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("main tbody tr")].filter((row) => row.querySelector("a"));
const rowNow = (rows: HTMLElement[]): number => rows.findIndex((row) => row.contains(document.activeElement));

function toRow(row: HTMLElement): void {
  const link = row.querySelector<HTMLElement>("a.name.last, th a, a")!;
  link.focus({ preventScroll: true });
  link.scrollIntoView({ block: "nearest" });
}

// Moves between table rows. Returns false if there are none.
function moveRow(by: number): boolean {
  const rows = rowsThere(), now = rowNow(rows);
  if (!rows.length) return false;
  toRow(rows[now < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, now + by))]);
  return true;
}

// Excludes the row's function. The focus then goes to the next row.
function dropRow(): boolean {
  const at = rowNow(rowsThere()), before = document.activeElement?.closest("tr");
  if (!followIn("a[data-act=drop]")) return false;
  const end = performance.now() + 10000;
  const look = () => {
    const now = document.activeElement, lost = !now || now === document.body || now.tagName === "H1", rows = rowsThere();
    if (lost && rows.length && !before?.isConnected) toRow(rows[Math.min(at, rows.length - 1)]);
    else if ((lost || now?.closest("tr") === before) && performance.now() < end) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  return true;
}

function followIn(selector: string): boolean {
  const link = document.activeElement?.closest("tr")?.querySelector<HTMLElement>(selector);
  link?.click();
  return Boolean(link);
}

function inTable(key: string): boolean {
  const inside = document.activeElement?.closest("main tr");
  const free = inside || !document.activeElement?.closest("[role=application], .graph, input");
  if (key === "j" || (key === "ArrowDown" && inside)) return free ? moveRow(1) : false;
  if (key === "k" || (key === "ArrowUp" && inside)) return free ? moveRow(-1) : false;
  if (inside && key === "d") return dropRow();
  if (inside && key === "o") return followIn("a.where");
  return false;
}

// "g" and a letter lead to a page.
export function useKeys(route: Route, pages: Key[][], setHelp: (on: boolean) => void, turnTheme: () => void): void {
  const pending = useRef(false);
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
      if (document.querySelector("dialog[open]")) return;
      const led = pending.current;
      pending.current = !led && event.key === "g";
      if (led) {
        const entry = pages.flat().find((one) => one.key === event.key);
        // a page without data has no link in the menu
        if (!entry || !document.querySelector(`.menu a[data-page="${entry.page}"]`)) return;
        event.stopPropagation();
        go(to(route, { page: entry.page }));
      } else if (event.key === "/") document.getElementById("search")?.focus();
      else if (event.key === "?") setHelp(true);
      else if (event.key === "T") turnTheme();
      else if (!inTable(event.key)) return;
      event.preventDefault();
    };
    addEventListener("keydown", key, true);
    return () => removeEventListener("keydown", key, true);
  }, [route]);
}

// A new page starts at the top, with the focus on its heading; going back restores the position.
// The focus goes to the heading also if the link that was followed is gone, as browsers would begin
// at the first link.
export function usePlace(route: Route, ready: boolean): void {
  const followed = useRef(false), before = useRef("");
  useEffect(() => {
    const click = (event: Event) => { followed.current = Boolean((event.target as Element).closest?.("a[href^='#/']")); };
    addEventListener("click", click, true);
    return () => removeEventListener("click", click, true);
  }, []);
  const now = route.page + " " + route.file, all = write({ ...route, search: "", rest: {} });
  useEffect(() => {
    if (!ready) return;
    const last = before.current;
    before.current = now;
    if (!last) return;
    if (followed.current) scrollTo(0, 0);
    followed.current = false;
    const lost = !document.activeElement || document.activeElement === document.body;
    if ((last !== now && !/^(INPUT|SELECT)$/.test(document.activeElement?.tagName || "")) || lost)
      document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
  }, [all, ready]);
}
