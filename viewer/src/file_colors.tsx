// SPDX-License-Identifier: MIT
// Colours of a flame graph by source file: the most expensive files have distinct hues, the others
// are grey; and the legend that names them.
import * as color from "./color";
import { Layout } from "./boxes";
import { base, share } from "./format";

const MOST = 12; // files with a hue of their own

export interface FileRanks { files: { file: string; self: number }[]; rank: Map<string, number>; }

// Ranks files by the self cost of their boxes; by total where boxes have no self cost (bottom-up).
export function rankFiles(layout: Layout, callers: boolean): FileRanks {
  const sums = new Map<string, number>();
  for (const box of layout.boxes) {
    const cost = callers ? (box.depth === 1 ? box.inclusive : 0) : box.self;
    if (box.row >= 0 && box.block.id) sums.set(box.block.file, (sums.get(box.block.file) || 0) + cost);
  }
  const files = [...sums].map(([file, self]) => ({ file, self })).sort((a, b) => b.self - a.self || (a.file < b.file ? -1 : 1));
  return { files, rank: new Map(files.map(({ file }, i) => [file, i])) };
}

export function colorOfFile(ranks: FileRanks, file: string, now: boolean): string {
  const rank = ranks.rank.get(file);
  return rank === undefined || rank >= MOST || !file ? color.ink("--stone") : color.distinct(rank, MOST, now);
}

export function FileLegend({ ranks, total }: { ranks: FileRanks; total: number }) {
  const dark = color.dark(), shown = ranks.files.slice(0, MOST).filter((one) => one.file), others = ranks.files.length - shown.length;
  return (
    <ul class="file-colors" aria-label="Colours of files">
      {shown.map(({ file, self }) => (
        <li title={file}><i style={{ background: colorOfFile(ranks, file, dark) }} />{base(file)} <span class="dim">{share(self, total)}</span></li>
      ))}
      {others > 0 && <li><i style={{ background: color.ink("--stone") }} />{shown.length ? "others" : "no files are known"}</li>}
    </ul>
  );
}
