// SPDX-License-Identifier: MIT
// Opens the page of cairn view on a file, clicks about, and prints as JSON how long each took (ms) and
// what memory the server has (bytes): resident when all was looked at, the most there was when the
// page was there and when all was looked at, and the most after simplified profiles, SQL and what is
// asked of few spans, too.
//
// drive.mjs PACKAGES CAIRN contexts|spans|html FILE
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [packages, cairn, kind, file] = process.argv.slice(2);
const { chromium } = createRequire(join(packages, "x.js"))("playwright-core");
const places = {
  contexts: ["flame?zoom=c5", "flame?zoom=c50", "flame", "functions?sort=self", "functions", "tree", "callers?focus=40", "callers?focus=12.40", "flame?focus=40",
    "flame?callers=1", "flame?focus=40&callers=1", "graph", "paths", "callers?focus=40&drop=12", "flame?drop=12", "functions?focus=40", "functions?drop=13", "paths?drop=13",
    "flame?search=function12", "functions?search=function12", "flame?callers=1&search=function12", "flame?beside=1&fn=40", "source?block=40"],
  spans: ["timeline?from=1000000&to=200000000", "timeline?from=1000000&to=20000000", "timeline", "spans", "slowest", "iterations",
    "missing", "iterations?of=2&first=100&last=5000", "timeline?of=2&first=100&last=5000", "spans?of=2&first=100&last=5000", "span-tree", "timeline?search=job", "spans?search=job", "slowest?search=job"],
};
places.html = places.contexts;
// For these the server makes another profile, or the tables of SQL: each kind of click on three places,
// of which the median counts.
const sql = (text) => [20, 21, 22].map((limit) => "sql?" + new URLSearchParams({ q: text + " limit " + limit }));
const simplified = { "flame?transform=merge": ["40", "41", "42"].map((id) => "flame?transform=merge:%23" + id), "functions?transform=collapse": ["40", "41", "42"].map((id) => "functions?transform=collapse:%23" + id) };
const made = {
  contexts: { ...simplified, "sql: functions": sql("select name, calls, ticks, block from functions order by ticks desc") },
  spans: {
    "sql: durations": sql("select name, count, ms(total), ms(median), ms(p99), ms(max), block from block_figures where count > 0 order by total desc"),
    "sql: slowest": sql("select id, name, ms(duration), ancestry(id) from spans order by duration desc"),
  },
  html: simplified,
};
const causes = ["explain", "explain?block=4", "whatif"];

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
page.setDefaultTimeout(300000); // the first what-if of millions of spans takes its time
const drawn = async () => {
  await page.waitForFunction(() => document.documentElement.dataset.waiting === "0");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
};
const began = Date.now();
const server = kind === "html" ? null : spawn(cairn, ["view", file], { stdio: ["ignore", "pipe", "inherit"] });
const status = (name) => Number(new RegExp(name + ":\\s+(\\d+)").exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]) * 1024;
const base = server ? String(await new Promise((done) => server.stdout.once("data", done))).trim() : "file://" + file;
const ready = Date.now();
await page.goto(base + "#/" + (kind === "spans" ? "timeline" : "flame"));
await page.waitForSelector("canvas");
await drawn();
const result = { ready: ready - began, paint: Date.now() - ready, clicks: {} };
if (server)
  result.loading = status("VmHWM");
// Waits until the server has computed what it computes in advance.
const idle = async () => {
  const used = () => readFileSync(`/proc/${server.pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13).reduce((sum, n) => sum + Number(n), 0);
  for (let before = -1; before !== used(); await new Promise((done) => setTimeout(done, 500))) before = used();
};
const visit = async (place) => {
  const from = Date.now();
  await page.evaluate((hash) => { location.hash = hash; }, "#/" + place);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0))));
  await drawn();
  return Date.now() - from;
};
for (const place of places[kind])
  result.clicks[place] = await visit(place);
if (server) {
  result.memory = status("VmRSS");
  result.peak = status("VmHWM");
}
for (const [name, those] of Object.entries(made[kind])) {
  const times = [];
  for (const place of those) times.push(await visit(place));
  result.clicks[name] = times.sort((one, other) => one - other)[1];
}
if (server) {
  result.causes = {};
  for (const place of kind === "spans" ? causes : []) {
    if (place !== causes[0]) await idle(); // the first is asked as soon as can be
    result.causes[place] = await visit(place);
    result.most = status("VmHWM");
  }
  server.kill();
}
console.log(JSON.stringify(result));
await browser.close();
