// SPDX-License-Identifier: MIT
// Pictures of a page to save: SVG and PNG.
import * as color from "./color";

const escaped = (text: string): string => text.replace(/[&<>"]/g, (c) => "&#" + c.charCodeAt(0) + ";");

export interface Shape { x: number; y: number; width: number; height: number; fill: string; ink: string; text: string; title: string; }

// Makes the picture of the flame graph that was drawn last; null if the page has none.
let shapes: (() => { width: number; height: number; all: Shape[] }) | null = null;
export const setShapes = (make: typeof shapes): void => void (shapes = make);
export const unsetShapes = (make: typeof shapes): void => { if (shapes === make) shapes = null; };

const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

function flameSvg({ width, height, all }: { width: number; height: number; all: Shape[] }): string {
  const boxes = all.map((one) =>
    `<g><title>${escaped(one.title)}</title><rect x="${one.x.toFixed(2)}" y="${one.y}" width="${one.width.toFixed(2)}" height="${one.height}" fill="${one.fill}"/>` +
    (one.text ? `<text x="${(one.x + 4).toFixed(2)}" y="${one.y + one.height / 2 + 4}" fill="${one.ink}">${escaped(one.text)}</text>` : "") + "</g>");
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${FONT}" font-size="12">` +
    `<rect width="100%" height="100%" fill="${color.ink("--page")}"/>${boxes.join("\n")}</svg>\n`;
}

// Returns the page's picture as SVG, "" if it has none.
export function svg(): string {
  if (shapes) return flameSvg(shapes());
  const graph = document.querySelector<SVGElement>(".graph svg");
  if (!graph) return "";
  const copy = graph.cloneNode(true) as SVGElement;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  // Styles of the page's sheet that the picture needs.
  [...graph.querySelectorAll("*")].forEach((from, i) => {
    const style = getComputedStyle(from), to = copy.querySelectorAll("*")[i] as SVGElement;
    to.setAttribute("style", ["fill", "stroke", "stroke-width", "font-size", "font-family", "opacity", "paint-order"].map((name) => name + ":" + style.getPropertyValue(name)).join(";"));
  });
  return copy.outerHTML + "\n";
}

// Returns the first canvas of the page on the page's colour, null if there is none.
export function png(): Promise<Blob | null> {
  const canvas = document.querySelector<HTMLCanvasElement>("main canvas[role=application], main .u-wrap canvas");
  if (!canvas) return Promise.resolve(null);
  const copy = document.createElement("canvas"), context = copy.getContext("2d")!;
  copy.width = canvas.width;
  copy.height = canvas.height;
  context.fillStyle = color.ink("--page");
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, 0);
  return new Promise((done) => copy.toBlob(done, "image/png"));
}

export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
