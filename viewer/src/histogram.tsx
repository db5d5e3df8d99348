// SPDX-License-Identifier: MIT
// The durations of a span name as a histogram. A range of its bars selects spans: all pages on spans,
// the timeline among them, then show only these.
import { useState } from "preact/hooks";
import { count, time } from "./format";
import { Place } from "./parts";
import { go, to } from "./route";

const HEIGHT = 90;

export function Histogram({ place, row, edges }: { place: Place; row: any; edges: number[] }) {
  const { route } = place, { choice } = route, bins: number[] = row.bins, most = Math.max(1, ...bins);
  const [held, setHeld] = useState<[number, number] | null>(null); // first and last bar, while dragging
  const last = bins.length - 1;
  // The durations of a bar, both included.
  const low = (i: number): number => edges[i], high = (i: number): number => (i === last ? edges[i + 1] : edges[i + 1] - 1);
  const select = (from: number, until: number) => {
    const [a, b] = from <= until ? [from, until] : [until, from];
    setHeld(null);
    go(to(route, { choice: { of: row.block.id, first: choice?.first, last: choice?.last, shortest: low(a), longest: high(b) } }));
  };
  const inside = (i: number): boolean => (held ? i >= Math.min(...held) && i <= Math.max(...held)
    : Boolean(choice) && low(i) >= (choice!.shortest ?? 0) && high(i) <= (choice!.longest ?? Infinity));
  const under = (event: PointerEvent): number => {
    const bar = document.elementFromPoint(event.clientX, event.clientY)?.closest<HTMLElement>("[data-bin]");
    return bar ? Number(bar.dataset.bin) : -1;
  };
  return (
    <section class="histogram" aria-label={"Durations of " + row.block.name}>
      <div class="bars" role="group" aria-label="Bars; Enter selects the durations of one, drag over several" style={{ height: HEIGHT + "px" }}
        onPointerMove={(event) => { const i = held ? under(event) : -1; if (i >= 0) setHeld([held![0], i]); }}
        onPointerUp={(event) => { if (held) { const i = under(event); select(held[0], i < 0 ? held[1] : i); } }}>
        {bins.map((n, i) => (
          <button type="button" data-bin={i} data-value={n} aria-pressed={inside(i)} disabled={!n && !held}
            aria-label={count(n) + " spans of " + time(low(i)) + " to " + time(edges[i + 1])} title={count(n) + " spans of " + time(low(i)) + " to " + time(edges[i + 1])}
            onPointerDown={(event) => { (event.target as HTMLElement).releasePointerCapture?.(event.pointerId); setHeld([i, i]); }}
            onClick={(event) => { if (!event.detail) select(i, i); }}>
            <i style={{ height: (n ? Math.max(3, (100 * n) / most) : 0) + "%" }} />
          </button>
        ))}
      </div>
      <p class="note"><span>{time(edges[0])}</span> <span>{time(edges[edges.length - 1])}</span></p>
      {choice && <p class="acts"><a href={to(route, { page: "timeline" })}>show the selection on the timeline</a></p>}
    </section>
  );
}
