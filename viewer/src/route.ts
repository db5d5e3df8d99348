// SPDX-License-Identifier: MIT
// Where one is: all of it is in the address behind "#", so that links can be followed, kept and
// sent, and the browser's back button works.

export interface Choice {
  of: number; // block
  first?: string; // numbers of iterations: any whole ones
  last?: string;
  shortest?: number;
  longest?: number;
}

export interface Route {
  page: string; // "": that which is worth to be seen first
  file: number;
  metric: string;
  focus: number[]; // blocks, callers first
  drops: number[][];
  choice: Choice | null; // of iterations
  search: string;
  rest: Record<string, string>; // the page's own
}

// What is none in an address is as if it were not there.
const whole = (text: string | null): number | undefined => (text && /^\d+$/.test(text) ? Number(text) : undefined);
export const wholeText = (text: string | null): string | undefined => (text && /^-?\d+$/.test(text) ? text : undefined);

const numbers = (text: string): number[] =>
  text.split(".").map(whole).filter((n): n is number => n !== undefined);

export function parse(hash: string): Route {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const items = new URLSearchParams(query || "");
  const route: Route = {
    page: path || "",
    file: whole(items.get("file")) || 0,
    metric: items.get("metric") || "",
    focus: numbers(items.get("focus") || "").slice(0, 1024),
    drops: items.getAll("drop").map(numbers).filter((d) => d.length > 0),
    choice: null,
    search: items.get("search") || "",
    rest: {},
  };
  const of = whole(items.get("of"));
  if (of !== undefined) {
    const number = (key: string) => whole(items.get(key)), iteration = (key: string) => wholeText(items.get(key));
    route.choice = { of, first: iteration("first"), last: iteration("last"), shortest: number("shortest"), longest: number("longest") };
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
