// SPDX-License-Identifier: MIT
// Figures for people.

// Thousands apart. (An Intl.NumberFormat takes longer to be made than the page to be read.)
const group = { format: (value: number): string => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",") };

function scaled(value: number, steps: [number, string][]): string {
  for (const [size, unit] of steps)
    if (Math.abs(value) >= size || size === steps[steps.length - 1][0]) {
      const part = value / size;
      const digits = Math.abs(part) >= 100 || value === 0 ? 0 : Math.abs(part) >= 10 ? 1 : 2;
      return part.toFixed(size === 1 ? 0 : digits) + "\u2009" + unit;
    }
  return String(value);
}

const times: [number, string][] = [[60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const sizes: [number, string][] = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];

export function figure(value: number, unit: string): string {
  if (unit === "nanoseconds") return scaled(value, times);
  if (unit === "bytes") return scaled(value, sizes);
  return group.format(value);
}

// A moment, told apart from another that is a step later.
export function moment(ns: number, step: number): string {
  const [size, unit] = times.slice(1).find(([one]) => ns >= one) || times[times.length - 1];
  if (!ns) return "0";
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(size / Math.max(1, step)) - 1e-9)));
  return (ns / size).toFixed(digits) + "\u2009" + unit;
}

export const count = (value: number): string => group.format(value);
export const time = (ns: number): string => scaled(ns, times);

export function share(part: number, whole: number): string {
  if (!whole) return "–";
  const percent = (100 * part) / whole;
  if (part && Math.abs(percent) < 0.05) return "< 0.1 %";
  return percent.toFixed(1) + " %";
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
