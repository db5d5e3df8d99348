// SPDX-License-Identifier: MIT
// The menu with what can be saved or sent.
import { useEffect, useRef, useState } from "preact/hooks";
import { File, isLive } from "./data";
import { png, save, svg } from "./picture";

export function ExportMenu({ file, number, page }: { file: File; number: number; page: string }) {
  const [open, setOpen] = useState(false), [said, setSaid] = useState(""), frame = useRef<HTMLDivElement>(null);
  const name = file.name.replace(/\..*$/, "") + "-" + page;
  useEffect(() => {
    if (!open) return;
    const away = (event: Event) => { if (!frame.current?.contains(event.target as Node)) setOpen(false); };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, [open]);
  useEffect(() => setSaid(""), [open]);
  const address = (to: string) => "api/export?to=" + to + "&file=" + number;
  const picture = async (kind: "svg" | "png") => {
    const blob = kind === "svg" ? (svg() ? new Blob([svg()], { type: "image/svg+xml" }) : null) : await png();
    if (blob) save(blob, name + "." + kind);
    setSaid(blob ? "" : "This page has no such picture.");
  };
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      setSaid("The link is copied.");
    } catch {
      setSaid(location.href);
    }
  };
  return (
    <div class="export" ref={frame} onKeyDown={(event) => { if (event.key === "Escape" && open) { setOpen(false); frame.current?.querySelector("button")?.focus(); } }}>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>Export</button>
      {open && (
        <ul>
          {isLive() && <li><a href={address("html")} download>page in one file (.html)</a></li>}
          {isLive() && <li><a href={address("pprof")} download>pprof (.pb.gz)</a></li>}
          <li><button type="button" onClick={() => picture("svg")}>picture (.svg)</button></li>
          <li><button type="button" onClick={() => picture("png")}>picture (.png)</button></li>
          <li><button type="button" onClick={copy}>copy the link</button></li>
          <li role="status" class="note">{said}</li>
        </ul>
      )}
    </div>
  );
}
