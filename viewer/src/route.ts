// SPDX-License-Identifier: MIT
// The page's state, stored in the address behind "#", so that links can be kept and sent, and the
// back button works.

export interface Choice {
  of: number; // block
  first?: string; // iteration numbers: any integers
  last?: string;
  shortest?: number;
  longest?: number;
}

export interface Route {
  page: string; // "": the default page
  file: number;
  metric: string;
  focus: number[]; // blocks, callers first
  drops: number[][];
  transforms: string[]; // "merge:#12", as cairn report --transform
  choice: Choice | null; // chosen iterations
  search: string;
  rest: Record<string, string>; // state of the page itself
}

export type TransformKind = "merge" | "merge-file" | "collapse" | "collapse-file" | "focus-file";

// A transform of paths by a function, or by its file.
export interface Transform { kind: TransformKind; block: number; }

export function parseTransform(text: string): Transform | null {
  const parts = /^(merge|merge-file|collapse|collapse-file|focus-file):#(\d{1,9})$/.exec(text);
  return parts && { kind: parts[1] as TransformKind, block: Number(parts[2]) };
}

// Ignores text that is not a number.
const whole = (text: string | null): number | undefined => (text && /^\d+$/.test(text) ? Number(text) : undefined);
export const wholeText = (text: string | null): string | undefined => (text && /^-?\d+$/.test(text) ? text : undefined);

const numbers = (text: string): number[] =>
  text.split(".").map(whole).filter((n): n is number => n !== undefined);

// By former name of a page, as in old links: the page's name now, and the order of its table.
const FORMER: Record<string, [string, string]> = {
  overall: ["functions", ""], self: ["functions", "self"], sequences: ["paths", ""], sequence: ["callers", ""],
};

export function parse(hash: string): Route {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const items = new URLSearchParams(query || "");
  const route: Route = {
    page: path || "",
    file: whole(items.get("file")) || 0,
    metric: items.get("metric") || "",
    focus: numbers(items.get("focus") || "").slice(0, 1024),
    drops: items.getAll("drop").map(numbers).filter((d) => d.length > 0),
    transforms: items.getAll("transform").filter((text) => parseTransform(text)).slice(0, 32),
    choice: null,
    search: items.get("search") || "",
    rest: {},
  };
  const of = whole(items.get("of"));
  if (of !== undefined) {
    const number = (key: string) => whole(items.get(key)), iteration = (key: string) => wholeText(items.get(key));
    route.choice = { of, first: iteration("first"), last: iteration("last"), shortest: number("shortest"), longest: number("longest") };
  }
  const shared = ["file", "metric", "focus", "drop", "transform", "of", "first", "last", "shortest", "longest", "search"];
  items.forEach((value, key) => {
    if (!shared.includes(key)) route.rest[key] = value;
  });
  if (route.rest.sort === "inclusive") route.rest.sort = "total"; // old links have the former name
  const former = FORMER[route.page];
  if (former) {
    route.page = former[0];
    if (former[1] && !route.rest.sort) route.rest.sort = former[1];
  }
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
  for (const text of route.transforms) items.append("transform", text);
  for (const [key, value] of Object.entries(choiceItems(route.choice))) items.set(key, value);
  if (route.search) items.set("search", route.search);
  for (const [key, value] of Object.entries(route.rest)) if (value !== "") items.set(key, value);
  const query = items.toString();
  return "#/" + route.page + (query ? "?" + query : "");
}

// Returns an address with `change` applied. Another page starts without the page's own state.
export function to(route: Route, change: Partial<Route>): string {
  const next = { ...route, ...change };
  if (change.page && change.page !== route.page && !change.rest) next.rest = {};
  return write(next);
}

export function go(href: string): void {
  location.hash = href;
}

// Replaces the current entry of the history.
export function replace(href: string): void {
  history.replaceState(null, "", href);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

// Returns the query items that narrow a profile.
export function scope(route: Route): [string, string][] {
  const items: [string, string][] = [["file", String(route.file)]];
  if (route.metric) items.push(["metric", route.metric]);
  if (route.focus.length) items.push(["focus", spell(route.focus)]);
  for (const drop of route.drops) items.push(["drop", spell(drop)]);
  for (const text of route.transforms) items.push(["transform", text]);
  return items;
}

export const spell = (blocks: number[]): string => blocks.map((b) => "#" + b).join(",");
