// SPDX-License-Identifier: MIT
// The source of the figures: the server, or the data in the page (embedded.ts). Both answer the
// same questions with the same JSON: docs/VIEW.md.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Sampling } from "./sampling";

export interface Block {
  id: number;
  name: string;
  within?: string; // names of the enclosing blocks in the source, joined by dots
  file: string;
  line: number;
  column: number;
}

// "outer.inner"
export const fullName = (block: Block): string => (block.within ? block.within + "." : "") + block.name;

export interface Metric {
  name: string;
  unit: string;
  total: number;
  sampling?: Sampling;
}

export interface File {
  path: string;
  name: string;
  generation: number;
  state: string;
  warnings: string[];
  foreign: boolean;
  fleet: boolean; // the server has a fleet's database
  spans: number | null; // null: not known yet
  metrics: Metric[];
  metric: string;
}

export type Items = [string, string][];

// Attribute values and iteration numbers of 16 digits and more stay text, because numbers beyond
// 2^53 would lose digits.
const LARGE = /"(value|iteration)":(-?\d{16,})(?=[,}\s])/g;
export const parseJson = (text: string): any =>
  JSON.parse(text.replace(LARGE, (all, key, digits) => (Number.isSafeInteger(Number(digits)) ? all : `"${key}":"${digits}"`)));

export interface Source {
  live: boolean; // true: there is a server
  ask(route: string, items: Items, signal?: AbortSignal): Promise<any>;
}

export class Gone extends Error {
  constructor() {
    super("cairn view does not answer: it has ended, or its machine cannot be reached. The current page stays; start cairn view again to continue.");
  }
}

export class Server implements Source {
  live = true;
  async ask(route: string, items: Items, signal?: AbortSignal): Promise<any> {
    const query = new URLSearchParams(items).toString();
    const response = await fetch("api/" + route + (query ? "?" + query : ""), { signal }).catch((error) => {
      throw error.name === "AbortError" ? error : new Gone();
    });
    const text = await response.text();
    let answer: any;
    try {
      answer = parseJson(text);
    } catch {
      throw new Error(text.trim() || "no answer (" + response.status + ")");
    }
    if (!response.ok) throw new Error(answer.error || "status " + response.status);
    return answer;
  }
}

// reload.files reads the list of files now; main.tsx sets it.
export const reload = { files: async (): Promise<void> => {} };

let source: Source = new Server();
export const setSource = (other: Source): void => void (source = other);
export const isLive = (): boolean => source.live;
// Number of open questions. html[data-waiting] shows it to scripts that drive the page.
let open = 0;
const tell = (by: number): void => void (document.documentElement.dataset.waiting = String((open += by)));

export const ask = (route: string, items: Items, signal?: AbortSignal): Promise<any> => {
  tell(1);
  return source.ask(route, items, signal).finally(() => tell(-1));
};

// A question that several components asked: it is sent once, and aborted when all have left.
interface Question {
  answer: Promise<any>;
  abort: AbortController;
  askers: number;
}

const questions = new Map<string, Question>();

function join(key: string, route: string, items: Items): Question {
  let its = questions.get(key);
  if (!its) {
    const abort = new AbortController(), mine: Question = { answer: ask(route, items, abort.signal), abort, askers: 0 };
    const over = () => { if (questions.get(key) === mine) questions.delete(key); };
    mine.answer.then(over, over);
    questions.set(key, (its = mine));
  }
  its.askers++;
  return its;
}

function leave(key: string, its: Question): void {
  if (--its.askers > 0) return;
  its.abort.abort();
  if (questions.get(key) === its) questions.delete(key);
}

// Cache of the last answers, so that the back button asks for nothing.
const KEPT = 8, kept = new Map<string, any>();

export const forget = (): void => kept.clear();

function keep(key: string, data: any): void {
  kept.delete(key);
  kept.set(key, data);
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT) return;
    kept.delete(oldest);
  }
}

export interface Answer<T> {
  data: T | null; // while waiting, the previous answer
  error: string;
  waiting: boolean;
}

interface Asking<T> extends Answer<T> {
  key: string; // "": no question
  route: string | null;
  question: Question | null;
}

const nothing = { key: "", route: null, question: null, data: null, error: "", waiting: true };

// Asks whenever the question or the file's generation changes. It asks while rendering, because an
// effect would run only after the page is painted.
export function useAnswer<T = any>(route: string | null, items: Items, generation = 0): Answer<T> {
  const [, draw] = useState(0), now = useRef<Asking<T>>(nothing);
  const key = route ? route + "?" + new URLSearchParams(items).toString() + " " + generation : "";
  if (now.current.key !== key) {
    const before = now.current, data = route && route === before.route ? before.data : null;
    const mine: Asking<T> = (now.current = { ...nothing, key, route, data });
    const take = (answer: T | null, error: string) => {
      if (now.current !== mine) return;
      Object.assign(mine, { data: answer, error, waiting: false, question: null });
      draw((n) => n + 1);
    };
    if (kept.has(key)) Object.assign(mine, { data: kept.get(key), waiting: false });
    else if (route) {
      mine.question = join(key, route, items);
      mine.question.answer.then(
        (answer) => { keep(key, answer); take(answer, ""); },
        (error) => { if (error.name !== "AbortError") take(null, String(error.message || error)); },
      );
    }
    if (before.question) leave(before.key, before.question);
  }
  useEffect(() => () => {
    if (now.current.question) leave(now.current.key, now.current.question);
    now.current = nothing;
  }, []);
  return now.current;
}

// Returns the previous drawing while the next answer is awaited, so that redrawing does not delay
// it.
export function useStill<T>(waiting: boolean, draw: () => T): T {
  const last = useRef<T | null>(null);
  if (!waiting || last.current === null) last.current = draw();
  return last.current;
}
