// SPDX-License-Identifier: MIT
// Light or dark; and colours of boxes and bars: a hue for a block, in a lightness that the theme's
// text stands out from.

export type Theme = "" | "light" | "dark"; // "": as the system has it

const night = "(prefers-color-scheme: dark)", kept = "cairn-theme", changed = "cairn-theme";

export const theme = (): Theme => (document.documentElement.dataset.theme || "") as Theme;
export const dark = (): boolean => (theme() ? theme() === "dark" : matchMedia(night).matches);

// A page in one file may have nowhere to keep it.
export function setTheme(next: Theme): void {
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  try {
    localStorage.setItem(kept, next);
  } catch { /* then it holds for this page alone */ }
  dispatchEvent(new Event(changed));
}

export function restoreTheme(): void {
  try {
    const before = localStorage.getItem(kept);
    if (before === "light" || before === "dark") document.documentElement.dataset.theme = before;
  } catch { /* as the system has it */ }
}

function hash(text: string): number {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) {
    value ^= text.charCodeAt(i);
    value = Math.imul(value, 16777619);
  }
  value ^= value >>> 15;
  return value >>> 0;
}

const cache = new Map<string, string>();

// Blocks of a file have hues that are near each other.
export function ofBlock(name: string, file: string): string {
  const now = dark();
  const key = (now ? "1" : "0") + file + "\0" + name;
  let color = cache.get(key);
  if (!color) {
    const hue = file ? ((hash(file) % 360) + (hash(name) % 110) - 55 + 360) % 360 : hash(name) % 360;
    const step = (hash(name + "~") % 100) / 100;
    color = now
      ? `oklch(${(0.4 + 0.08 * step).toFixed(3)} 0.075 ${hue})`
      : `oklch(${(0.82 + 0.07 * step).toFixed(3)} 0.075 ${hue})`;
    cache.set(key, color);
  }
  return color;
}

// From little to much, 0 to 1.
export function heat(part: number): string {
  const p = Math.max(0, Math.min(1, part));
  return dark()
    ? `oklch(${(0.3 + 0.2 * p).toFixed(3)} ${(0.01 + 0.12 * p).toFixed(3)} ${(70 - 40 * p).toFixed(0)})`
    : `oklch(${(0.955 - 0.2 * p).toFixed(3)} ${(0.008 + 0.135 * p).toFixed(3)} ${(85 - 45 * p).toFixed(0)})`;
}

// Less is blue, more is red, nothing is grey: -1 to 1.
export function diff(part: number): string {
  const p = Math.max(-1, Math.min(1, part));
  const size = Math.sqrt(Math.abs(p));
  const hue = p > 0 ? 30 : 250;
  return dark()
    ? `oklch(${(0.34 + 0.1 * size).toFixed(3)} ${(0.005 + 0.09 * size).toFixed(3)} ${hue})`
    : `oklch(${(0.93 - 0.13 * size).toFixed(3)} ${(0.005 + 0.095 * size).toFixed(3)} ${hue})`;
}

export function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Calls back when light becomes dark, or dark light.
export function onTheme(call: () => void): () => void {
  const query = matchMedia(night);
  query.addEventListener("change", call);
  addEventListener(changed, call);
  return () => {
    query.removeEventListener("change", call);
    removeEventListener(changed, call);
  };
}
