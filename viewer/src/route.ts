// SPDX-License-Identifier: MIT
// Where one is: all of it is in the address behind "#", so that links can be followed, kept and
// sent, and the browser's back button works.

export interface Choice {
  of: number; // block
  first?: number;
  last?: number;
  shortest?: number;
  longest?: number;
}

export interface Route {
  page: string;
  file: number;
  metric: string;
  focus: number[]; // blocks, callers first
  drops: number[][];
  choice: Choice | null; // of iterations
  search: string;
  rest: Record<string, string>; // the page's own
}

const numbers = (text: string): number[] =>
  text.split(".").map(Number).filter((n) => Number.isInteger(n) && n >= 0);

export function parse(hash: string): Route {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const items = new URLSearchParams(query || "");
  const route: Route = {
    page: path || "flame",
    file: Number(items.get("file") || 0) || 0,
    metric: items.get("metric") || "",
    focus: numbers(items.get("focus") || "").slice(0, 1024),
    drops: items.getAll("drop").map(numbers).filter((d) => d.length > 0),
    choice: null,
    search: items.get("search") || "",
    rest: {},
  };
  if (!items.get("focus")) route.focus = [];
  const of = items.get("of");
  if (of !== null) {
    const number = (key: string) => (items.has(key) ? Number(items.get(key)) : undefined);
    route.choice = {
      of: Number(of),
      first: number("first"),
      last: number("last"),
      shortest: number("shortest"),
      longest: number("longest"),
    };
  }
  const shared = ["file", "metric", "focus", "drop", "of", "first", "last", "shortest", "longest", "search"];
  items.forEach((value, key) => {
    if (!shared.includes(key)) route.rest[key] = value;
  });
  return route;
}

export function choiceItems(choice: Choice | null): Record<string, string> {
  const items: Record<string, string> = {};
  if (!choice) return items;
  items.of = String(choice.of);
  for (const key of ["first", "last", "shortest", "longest"] as const)
    if (choice[key] !== undefined) items[key] = String(choice[key]);
  return items;
}

export function write(route: Route): string {
  const items = new URLSearchParams();
  if (route.file) items.set("file", String(route.file));
  if (route.metric) items.set("metric", route.metric);
  if (route.focus.length) items.set("focus", route.focus.join("."));
  for (const drop of route.drops) items.append("drop", drop.join("."));
  for (const [key, value] of Object.entries(choiceItems(route.choice))) items.set(key, value);
  if (route.search) items.set("search", route.search);
  for (const [key, value] of Object.entries(route.rest)) if (value !== "") items.set(key, value);
  const query = items.toString();
  return "#/" + route.page + (query ? "?" + query : "");
}

// The same place but for what is said. Another page starts with nothing of its own.
export function to(route: Route, change: Partial<Route>): string {
  const next = { ...route, ...change };
  if (change.page && change.page !== route.page && !change.rest) next.rest = {};
  return write(next);
}

export function go(href: string): void {
  location.hash = href;
}

// The same step of the way, seen otherwise.
export function replace(href: string): void {
  history.replaceState(null, "", href);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

// What narrows a profile, as the server takes it.
export function scope(route: Route): [string, string][] {
  const items: [string, string][] = [["file", String(route.file)]];
  if (route.metric) items.push(["metric", route.metric]);
  if (route.focus.length) items.push(["focus", spell(route.focus)]);
  for (const drop of route.drops) items.push(["drop", spell(drop)]);
  return items;
}

export const spell = (blocks: number[]): string => blocks.map((b) => "#" + b).join(",");
