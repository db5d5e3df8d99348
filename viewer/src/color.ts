// SPDX-License-Identifier: MIT
// The light and dark themes, and the colours of boxes and bars: one hue for each block, with a
// lightness that text is legible on.

export type Theme = "" | "light" | "dark"; // "": the system's

const night = "(prefers-color-scheme: dark)", kept = "cairn-theme", changed = "cairn-theme";

export const theme = (): Theme => (document.documentElement.dataset.theme || "") as Theme;
// created once: a query for each box would cost more than drawing it
const system = matchMedia(night);
export const dark = (): boolean => (theme() ? theme() === "dark" : system.matches);

const YEAR = 365 * 24 * 3600; // seconds

// Stored as a cookie, because cookies are the same for all ports, and each cairn view has another
// port. A page in one file may be unable to store it.
export function setTheme(next: Theme): void {
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  try {
    if (location.protocol === "file:") localStorage.setItem(kept, next);
    else document.cookie = `${kept}=${next}; path=/; max-age=${next ? YEAR : 0}; samesite=strict`;
  } catch { /* then it holds for this page only */ }
  dispatchEvent(new Event(changed));
}

export function restoreTheme(): void {
  try {
    const before = location.protocol === "file:" ? localStorage.getItem(kept) : new RegExp(`(?:^|; )${kept}=(\\w+)`).exec(document.cookie)?.[1];
    if (before === "light" || before === "dark") document.documentElement.dataset.theme = before;
  } catch { /* the system's */ }
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

// Converts CSS oklch() coordinates to "#rrggbb", which browsers parse several times faster; a
// picture has thousands of colours. (Björn Ottosson, "A perceptual color space", 2020.)
function oklch(light: number, chroma: number, hue: number): string {
  const a = chroma * Math.cos((hue * Math.PI) / 180), b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const byte = (part: number): string => {
    const p = Math.max(0, Math.min(1, part)), value = p <= 0.0031308 ? 12.92 * p : 1.055 * p ** (1 / 2.4) - 0.055;
    return Math.round(255 * value).toString(16).padStart(2, "0");
  };
  return "#" + linear.map(byte).join("");
}

const cache = new Map<string, string>();

// Blocks of one file get similar hues. `now`: true if the theme is dark; callers that draw many
// boxes ask for it once.
export function ofBlock(name: string, file: string, now = dark()): string {
  const key = (now ? "1" : "0") + file + "\0" + name;
  let color = cache.get(key);
  if (!color) {
    const hue = file ? ((hash(file) % 360) + (hash(name) % 110) - 55 + 360) % 360 : hash(name) % 360;
    const step = (hash(name + "~") % 100) / 100;
    color = now ? oklch(0.4 + 0.08 * step, 0.075, hue) : oklch(0.82 + 0.07 * step, 0.075, hue);
    cache.set(key, color);
  }
  return color;
}

// Returns one of `count` hues that are told apart easily; neighbours in rank are far apart.
export function distinct(rank: number, count: number, now = dark()): string {
  const stride = 5, hue = (360 * ((rank * stride) % count)) / count;
  return now ? oklch(rank % 2 ? 0.47 : 0.4, 0.1, hue) : oklch(rank % 2 ? 0.86 : 0.78, 0.1, hue);
}

const STEPS = 256;
const scales = new Map<string, string[]>();

// A scale has STEPS colours, each computed once.
function ofScale(kind: string, part: number, now: boolean, color: (part: number) => string): string {
  const key = kind + now, at = Math.round(part * STEPS);
  let all = scales.get(key);
  if (!all) scales.set(key, (all = []));
  return all[at] || (all[at] = color(at / STEPS));
}

// Maps little to much, 0 to 1.
export function heat(part: number, now = dark()): string {
  return ofScale("heat", Math.max(0, Math.min(1, part)), now, (p) => (now
    ? oklch(0.3 + 0.2 * p, 0.01 + 0.12 * p, 70 - 40 * p)
    : oklch(0.955 - 0.2 * p, 0.008 + 0.135 * p, 85 - 45 * p)));
}

// Maps -1 to 1: blue is less, red is more, grey is equal.
export function diff(part: number, now = dark()): string {
  const size = Math.sqrt(Math.min(1, Math.abs(part))), hue = part > 0 ? 30 : 250;
  return ofScale("diff" + hue, size, now, (p) => (now
    ? oklch(0.34 + 0.1 * p, 0.005 + 0.09 * p, hue)
    : oklch(0.93 - 0.13 * p, 0.005 + 0.095 * p, hue)));
}

export function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Calls `call` when the theme changes between light and dark.
export function onTheme(call: () => void): () => void {
  const query = matchMedia(night);
  query.addEventListener("change", call);
  addEventListener(changed, call);
  return () => {
    query.removeEventListener("change", call);
    removeEventListener(changed, call);
  };
}
