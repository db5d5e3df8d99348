// SPDX-License-Identifier: MIT
// Where figures come from: the server, or what a page brings along (embedded.ts). Both answer the
// same questions with the same JSON: docs/VIEW.md.
import { useEffect, useRef, useState } from "preact/hooks";

export interface Block {
  id: number;
  name: string;
  within?: string; // the names of the blocks that it is written inside of, with dots between them
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
}

export interface File {
  path: string;
  name: string;
  generation: number;
  state: string;
  warnings: string[];
  foreign: boolean;
  spans: number | null; // null: not known yet
  metrics: Metric[];
  metric: string;
}

export type Items = [string, string][];

// Whole numbers beyond 2^53 are none here: those of a program, its attributes and its iterations, stay as
// they are written, as text.
const LARGE = /"(value|iteration)":(-?\d{16,})(?=[,}\s])/g;
export const parseJson = (text: string): any =>
  JSON.parse(text.replace(LARGE, (all, key, digits) => (Number.isSafeInteger(Number(digits)) ? all : `"${key}":"${digits}"`)));

export interface Source {
  live: boolean; // there is a server
  ask(route: string, items: Items, signal?: AbortSignal): Promise<any>;
}

export class Gone extends Error {
  constructor() {
    super("cairn view does not answer: it has ended, or the machine that it runs on cannot be reached. What is there stays; start it again for more.");
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

let source: Source = new Server();
export const setSource = (other: Source): void => void (source = other);
export const isLive = (): boolean => source.live;
// How many questions are open is told to who drives the page: html[data-waiting].
let open = 0;
const tell = (by: number): void => void (document.documentElement.dataset.waiting = String((open += by)));

export const ask = (route: string, items: Items, signal?: AbortSignal): Promise<any> => {
  tell(1);
  return source.ask(route, items, signal).finally(() => tell(-1));
};

// What is asked for by several at once is asked once, and left when nobody waits for it any more.
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

// The last answers: the way back asks for nothing.
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
  data: T | null; // the last one, while the next is asked for
  error: string;
  waiting: boolean;
}

interface Asking<T> extends Answer<T> {
  key: string; // "": nothing is asked for
  route: string | null;
  question: Question | null;
}

const nothing = { key: "", route: null, question: null, data: null, error: "", waiting: true };

// Asks anew whenever the question changes, or what it is about: while the page is drawn, since an
// effect would come only when that is on the screen.
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

// What was drawn last, while the next answer is asked for: drawing that anew would only delay it.
export function useStill<T>(waiting: boolean, draw: () => T): T {
  const last = useRef<T | null>(null);
  if (!waiting || last.current === null) last.current = draw();
  return last.current;
}
