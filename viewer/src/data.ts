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
  foreign: boolean;
  spans: number | null; // null: not known yet
  metrics: Metric[];
  metric: string;
}

export type Items = [string, string][];

export interface Source {
  live: boolean; // there is a server
  ask(route: string, items: Items, signal?: AbortSignal): Promise<any>;
}

export class Server implements Source {
  live = true;
  async ask(route: string, items: Items, signal?: AbortSignal): Promise<any> {
    const query = new URLSearchParams(items).toString();
    const response = await fetch("api/" + route + (query ? "?" + query : ""), { signal });
    const text = await response.text();
    let answer: any;
    try {
      answer = JSON.parse(text);
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

export interface Answer<T> {
  data: T | null; // the last one, while the next is asked for
  error: string;
  waiting: boolean;
}

// Asks anew whenever the question changes, or what it is about.
export function useAnswer<T = any>(route: string | null, items: Items, generation = 0): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ data: null, error: "", waiting: true });
  const key = route + "?" + new URLSearchParams(items).toString();
  const asked = useRef("");
  useEffect(() => {
    if (!route) return;
    const abort = new AbortController();
    const other = asked.current.split("?")[0] !== route;
    asked.current = key;
    setAnswer((before) => ({ ...before, data: other ? null : before.data, waiting: true }));
    ask(route, items, abort.signal).then(
      (data) => setAnswer({ data, error: "", waiting: false }),
      (error) => {
        if (error.name !== "AbortError")
          setAnswer({ data: null, error: String(error.message || error), waiting: false });
      },
    );
    return () => abort.abort();
  }, [key, generation]);
  return answer;
}
