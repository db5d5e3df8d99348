// SPDX-License-Identifier: MIT
// Formats figures.

// Groups thousands. (Constructing an Intl.NumberFormat takes longer than reading the page.)
const group = { format: (value: number): string => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",") };

// Writes three digits, in the largest unit in which the rounded figure is at least 1.
function scaled(value: number, steps: [number, string][]): string {
  const last = steps.length - 1, size = Math.abs(value);
  const written = (step: number): string => {
    const part = value / steps[step][0], large = Math.abs(part);
    return steps[step][0] === 1 ? part.toFixed(0) : part.toFixed(large >= 99.95 || value === 0 ? 0 : large >= 9.995 ? 1 : 2);
  };
  let step = steps.findIndex(([one]) => size >= one);
  if (step < 0) step = last;
  if (step > 0 && Math.abs(Number(written(step))) * steps[step][0] >= steps[step - 1][0]) step--;
  return written(step) + "\u2009" + steps[step][1];
}

const times: [number, string][] = [[60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const sizes: [number, string][] = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];

export function figure(value: number, unit: string): string {
  if (unit === "nanoseconds") return scaled(value, times);
  if (unit === "bytes") return scaled(value, sizes);
  return group.format(value);
}

// Parses a time such as "10 ms" or "1.5s", or a plain number in `unit`. Returns nanoseconds, or
// null if it is none.
export function timeOf(text: string, unit: string): number | null {
  const [, number, its] = /^\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zµμ]*)\s*$/.exec(text) || [];
  const wanted = (its || unit).replace("μ", "µ").replace("us", "µs"), found = times.find(([, one]) => one === wanted);
  return number && found ? Math.round(Number(number) * found[0]) : null;
}

// Writes a moment with enough digits to distinguish it from one that is `step` later.
export function moment(ns: number, step: number): string {
  if (!ns) return "0";
  const written = (size: number): string =>
    (ns / size).toFixed(Math.max(0, Math.min(9, Math.ceil(Math.log10(size / Math.max(1, step)) - 1e-9))));
  let at = times.findIndex(([size], i) => i > 0 && ns >= size);
  if (at < 0) at = times.length - 1;
  if (at > 1 && Number(written(times[at][0])) * times[at][0] >= times[at - 1][0]) at--;
  return written(times[at][0]) + "\u2009" + times[at][1];
}

export const count = (value: number): string => group.format(value);
export const time = (ns: number): string => scaled(ns, times);

export function share(part: number, whole: number): string {
  if (!whole) return "–";
  const percent = (100 * part) / whole;
  if (part && Math.abs(percent) < 0.05) return "< 0.1 %";
  return (percent < 0 ? "−" : "") + Math.abs(percent).toFixed(1) + " %";
}

// Writes a number with at most four digits that count.
export function quantity(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e15 || (size && size < 1e-3)) return value.toExponential(2).replace(/-/g, "−");
  const text = size >= 1000 ? group.format(size) : String(Number(size.toPrecision(4)));
  return (value < 0 ? "−" : "") + text;
}

export function change(before: number, after: number): string {
  if (!before) return after ? "new" : "–";
  const percent = 100 * (after / before - 1);
  if (Math.abs(percent) < 0.05) return before === after ? "–" : "< 0.1 %";
  const sign = percent > 0 ? "+" : percent < 0 ? "−" : "±";
  const size = Math.abs(percent);
  return sign + (size >= 1000 ? group.format(size) : size.toFixed(1)) + " %";
}

export function base(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1);
}
