// SPDX-License-Identifier: MIT
// Files that the user drops onto the page, or opens with the button: cairn view loads them as
// further files.
import { useEffect, useRef, useState } from "preact/hooks";
import { isLive, parseJson } from "./data";

// Sends a file; returns its number.
async function send(file: globalThis.File): Promise<number> {
  const response = await fetch("api/open?name=" + encodeURIComponent(file.name), { method: "POST", body: file });
  const text = await response.text();
  let answer: any;
  try {
    answer = parseJson(text);
  } catch {
    throw new Error(text.trim());
  }
  if (!response.ok) throw new Error(answer.error);
  return answer.file;
}

export function OpenFiles({ opened }: { opened: (number: number) => void }) {
  const [over, setOver] = useState(false), [said, setSaid] = useState(""), input = useRef<HTMLInputElement>(null);
  const take = async (files: FileList | null | undefined) => {
    setOver(false);
    if (!files?.length) return;
    if (!isLive()) return setSaid("A page in one file cannot open others; cairn view can.");
    try {
      let last = 0;
      for (const file of files) {
        setSaid("Reading " + file.name + "…");
        last = await send(file);
      }
      setSaid("");
      opened(last);
    } catch (problem) {
      setSaid(String((problem as Error).message || problem));
    }
  };
  useEffect(() => {
    const has = (event: DragEvent) => Boolean(event.dataTransfer?.types.includes("Files"));
    const drag = (event: DragEvent) => { if (has(event)) { event.preventDefault(); setOver(true); } };
    const leave = (event: DragEvent) => { if (!event.relatedTarget) setOver(false); };
    const drop = (event: DragEvent) => { if (has(event)) { event.preventDefault(); take(event.dataTransfer?.files); } };
    addEventListener("dragover", drag);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", drag);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  });
  return (
    <>
      {isLive() && <button type="button" title="Open captures, pprof files and others; or drop them onto the page" onClick={() => input.current!.click()}>Open</button>}
      <input ref={input} type="file" multiple hidden aria-label="Files to open" onChange={(event) => { take(event.currentTarget.files); event.currentTarget.value = ""; }} />
      {over && <div class="drop-here" aria-hidden="true">Drop captures, pprof, folded stacks or perf script here</div>}
      <span class="said" role="status">{said && <>{said} <button type="button" class="x" aria-label="Dismiss the message" onClick={() => setSaid("")}>×</button></>}</span>
    </>
  );
}
