// SPDX-License-Identifier: MIT
// Opens pages of cairn view and saves what they show; draw.py says how it is called.
import { execFileSync, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";

const [cairn, folder, packages, out, sources] = process.argv.slice(2);
const { chromium } = createRequire(join(packages, "x.js"))("playwright-core");
const files = ["handbook.cairn", "fast.cairn", "jobs.cairn", "pipeline.cairn", "spans.cairn"];
const file = (name) => "file=" + files.indexOf(name + ".cairn");
const json = (...words) => JSON.parse(execFileSync(cairn, words, { cwd: folder, maxBuffer: 1 << 28 }));
const blockOf = (rows, name) => rows.find((row) => row.block.name === name).block.id;

const functions = json("report", "--json", "handbook.cairn", "--flat", "--top", "0").flat;
const insert = blockOf(functions, "ordered.insert");
const compress = blockOf(json("spans", "--json", "pipeline.cairn", "--top", "0").blocks, "compress");
const request = json("spans", "--json", "spans.cairn", "--top", "0").blocks[0];
const converted = json("spans", "--json", "jobs.cairn", "--slowest=20").slowest.find((span) => span.handed_off);
const packed = json("spans", "--json", "pipeline.cairn", "--slowest=100").slowest.find((span) => span.block.name === "write" && span.handed_off);

// name, height, page, and what must be there
const pictures = [
  ["flame", 800, `flame?${file("handbook")}&metric=ticks`, ".flame canvas"],
  ["callers", 640, `callers?${file("handbook")}&metric=ticks&focus=${insert}`, "tr[data-step]"],
  ["timeline", 620, `timeline?${file("jobs")}&span=${converted.id}`, ".span-card"],
  ["pipeline", 620, `timeline?${file("pipeline")}${packed ? "&span=" + packed.id : ""}`, ".lanes canvas"],
  ["iterations", 800, `iterations?${file("spans")}&of=${request.block.id}&shortest=${request.p99}`, "tr[data-span]"],
  ["whatif", 700, `whatif?${file("pipeline")}&speed=${compress}:2`, '[data-what="effects"]'],
  ["diff", 800, "diff?metric=ticks", "table.sides tbody tr"],
];

const server = spawn(cairn, ["view", "--source", sources, ...files], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
const base = String(await new Promise((done) => server.stdout.once("data", done))).trim();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  for (const [name, height, where, there] of pictures) {
    const page = await browser.newPage({ viewport: { width: 1280, height }, colorScheme: "light" });
    await page.goto(base + "#/" + where);
    await page.waitForSelector(there);
    await page.waitForFunction(() => document.documentElement.dataset.waiting === "0");
    await page.waitForTimeout(400);
    await page.screenshot({ path: join(out, name + ".png") });
    await page.close();
  }
} finally {
  await browser.close();
  server.kill("SIGTERM");
}
