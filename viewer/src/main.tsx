// SPDX-License-Identifier: MIT
// The frame of all pages: menu, selected file and metric, and the steps by which the profile was
// narrowed.
import { render } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import "./page.css";
import * as color from "./color";
import { Theme } from "./color";
import { Block, File, Gone, Metric, ask, forget, fullName, isLive, reload, setSource, useAnswer } from "./data";
import { ExplainPage, WhatIfPage } from "./causes";
import { DiffPage, sidesOf } from "./diff_page";
import { Embedded } from "./embedded";
import { ExportMenu } from "./export_menu";
import { FleetPage } from "./fleet";
import { FlamePage, SpanFlamePage } from "./flame_page";
import { figure, share, time } from "./format";
import { FramesPage } from "./frames";
import { GraphPage } from "./graph";
import { IterationsPage } from "./iterations";
import { Help, useKeys, usePlace } from "./keys";
import { OpenFiles } from "./dropped";
import { Place, Problem, Strip, Waiting, callsCounted, transformText, withoutPlace } from "./parts";
import { Choice, Route, go, parse, parseTransform, replace, scope, to, write } from "./route";
import { Search } from "./search";
import { SourcePage } from "./source_page";
import { SqlPage } from "./sql";
import { MissingPage, SlowestPage, SpansPage } from "./spans_pages";
import { BlocksPage, SequencePage, SequencesPage } from "./tables";
import { TimelinePage } from "./timeline";
import { TreePage } from "./tree";

interface Entry {
  page: string;
  text: string;
  show: (place: Place, search: string) => any;
  key: string;
}

const where: Entry[] = [
  { page: "flame", text: "Flame graph", key: "1", show: (place, search) => <FlamePage place={place} search={search} /> },
  { page: "functions", text: "Functions", key: "2", show: (place, search) => <BlocksPage place={place} search={search} /> },
  { page: "tree", text: "Call tree", key: "7", show: (place, search) => <TreePage place={place} search={search} /> },
  { page: "callers", text: "Callers & callees", key: "3", show: (place, search) => <SequencePage place={place} search={search} /> },
  { page: "paths", text: "Hot paths", key: "4", show: (place, search) => <SequencesPage place={place} search={search} /> },
  { page: "graph", text: "Call graph", key: "5", show: (place, search) => <GraphPage place={place} search={search} /> },
  { page: "source", text: "Source", key: "6", show: (place, search) => <SourcePage place={place} search={search} /> },
];

const when: Entry[] = [
  { page: "timeline", text: "Timeline", key: "t", show: (place, search) => <TimelinePage place={place} search={search} /> },
  { page: "span-tree", text: "Span tree", key: "r", show: (place, search) => <SpanFlamePage place={place} search={search} /> },
  { page: "spans", text: "Spans", key: "s", show: (place, search) => <SpansPage place={place} search={search} /> },
  { page: "slowest", text: "Slowest", key: "w", show: (place, search) => <SlowestPage place={place} search={search} /> },
  { page: "iterations", text: "Iterations", key: "i", show: (place, search) => <IterationsPage place={place} search={search} /> },
  { page: "frames", text: "Frames", key: "f", show: (place) => <FramesPage place={place} /> },
  { page: "explain", text: "Explain", key: "e", show: (place, search) => <ExplainPage place={place} search={search} /> },
  { page: "whatif", text: "What if", key: "h", show: (place, search) => <WhatIfPage place={place} search={search} /> },
  { page: "missing", text: "Missing time", key: "m", show: (place, search) => <MissingPage place={place} search={search} /> },
];

const what: Entry[] = [
  { page: "sql", text: "SQL", key: "q", show: (place) => <SqlPage key={place.file.path} place={place} /> },
  { page: "diff", text: "Difference", key: "x", show: (place, search) => <DiffPage place={place} search={search} /> },
];

const fleet: Entry[] = [
  { page: "fleet", text: "Fleet", key: "l", show: (place) => <FleetPage place={place} /> },
];

const pages = [where, when, what, fleet], entries = pages.flat();

function useRoute(): Route {
  const [route, setRoute] = useState(parse(location.hash));
  useEffect(() => {
    const changed = () => setRoute(parse(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

// Polling intervals of the list of files: while a program writes one, and afterwards, because a new
// recording may replace an ended one.
const OFTEN = 1000, SELDOM = 3000, SOON = 250; // ms

function useFiles(): { files: File[]; error: string; gone: boolean; look: () => Promise<void> } {
  const now = useRef(async () => {});
  const [files, setFiles] = useState<File[]>([]);
  const [error, setError] = useState(""), [gone, setGone] = useState(false);
  useLayoutEffect(() => { // before the page is painted without them
    let timer = 0, over = false;
    const look = async () => {
      try {
        const now: File[] = await ask("captures", []);
        if (over) return;
        setFiles((before) => {
          if (JSON.stringify(before) === JSON.stringify(now)) return before;
          forget();
          return now;
        });
        setError("");
        setGone(false);
        const live = isLive() && now.some((file) => file.state === "running");
        const unknown = now.some((file) => file.spans === null);
        if (isLive() || unknown) timer = window.setTimeout(look, unknown ? SOON : live ? OFTEN : SELDOM);
      } catch (problem) {
        if (over) return;
        setError(String((problem as Error).message || problem));
        setGone(problem instanceof Gone);
        timer = window.setTimeout(look, SELDOM);
      }
    };
    now.current = () => { clearTimeout(timer); return look(); };
    reload.files = now.current;
    look();
    return () => { over = true; clearTimeout(timer); };
  }, []);
  return { files, error, gone, look: () => now.current() };
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
      <ellipse cx="16" cy="26" rx="13" ry="5" /><ellipse cx="15" cy="17" rx="9.5" ry="4.4" /><ellipse cx="17" cy="9" rx="6" ry="3.6" />
    </svg>
  );
}

function Menu({ title, list, route, disabled }: { title: string; list: Entry[]; route: Route; disabled?: string }) {
  return (
    <section>
      <h2>{title}</h2>
      {disabled ? <p class="note">{disabled}</p> : (
        <ul>
          {list.map((entry) => (
            <li>
              <a href={to(route, { page: entry.page })} data-page={entry.page} aria-current={route.page === entry.page ? "page" : undefined} title={"Key: g " + entry.key}>{entry.text}</a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function useNames(place: Place, ids: number[]): Map<number, Block> {
  const [names, setNames] = useState(new Map<number, Block>());
  const missing = ids.filter((id) => !names.has(id));
  useEffect(() => {
    let over = false;
    setNames((before) => (before.size ? new Map() : before));
    return () => { over = true; void over; };
  }, [place.route.file]);
  useEffect(() => {
    let over = false;
    if (missing.length)
      ask("blocks", [["file", String(place.route.file)], ["ids", missing.slice(0, 256).join()]]).then((found: Block[]) => {
        if (!over && found.length) setNames((before) => new Map([...before, ...found.map((b) => [b.id, b] as [number, Block])]));
      }, () => {});
    return () => { over = true; };
  }, [missing.join(), place.route.file]);
  return names;
}

function choiceText(choice: Choice, name: string): string {
  const parts: string[] = [];
  if (choice.first !== undefined || choice.last !== undefined)
    parts.push("#" + (choice.first ?? "…") + " to #" + (choice.last ?? "…"));
  if (choice.shortest !== undefined || choice.longest !== undefined)
    parts.push("total " + (choice.longest === undefined ? time(choice.shortest!) + " or longer" : choice.shortest ? time(choice.shortest) + " to " + time(choice.longest) : time(choice.longest) + " or less"));
  return name + " " + (parts.join(", ") || "all");
}

// The steps by which the profile was narrowed; each can be undone separately.
function Crumbs({ place }: { place: Place }) {
  const { route, unit } = place;
  const transforms = route.transforms.map((text) => parseTransform(text)!);
  const ids = [...route.focus, ...route.drops.flat(), ...transforms.map((one) => one.block), ...(route.choice ? [route.choice.of] : [])];
  const names = useNames(place, [...new Set(ids)]);
  const name = (id: number) => { const block = names.get(id); return block ? fullName(block) : "#" + id; };
  const narrowed = route.focus.length > 0 || route.drops.length > 0 || transforms.some((one) => one.kind === "focus-file");
  // The cost of a sequence is that of its last step. Without one, the cost is the total of the
  // flame graph.
  const question = !narrowed ? null : route.focus.length ? "steps" : "flame";
  const { data } = useAnswer<any>(question, route.focus.length ? scope(route) : [...scope(route), ["width", "1"], ["root", "0"]], place.file.generation);
  const part: number | undefined = Array.isArray(data) ? data[data.length - 1]?.inclusive : data?.total;
  const whole = place.file.metrics.find((one) => one.name === place.metric)?.total || 0;
  const spans = when.some((entry) => entry.page === route.page);
  return (
    <nav class="crumbs" aria-label="Selection">
      <ol>
        <li><a href={to(route, { focus: [], drops: [], transforms: [], choice: null, rest: {} })}>all of {place.file.name}</a></li>
        {!spans && route.focus.map((id, i) => (
          <li class="step">
            <a href={to(route, { focus: route.focus.slice(0, i + 1), rest: {} })} aria-current={i === route.focus.length - 1 ? "true" : undefined}>{name(id)}</a>
            {(i === 0 || i === route.focus.length - 1) && (
              <a class="x" href={to(route, { focus: route.focus.filter((_, j) => j !== i), rest: {} })} aria-label={"Remove " + name(id)}>×</a>
            )}
          </li>
        ))}
        {!spans && route.drops.map((drop, i) => (
          <li class="drop">
            <span>excluding {drop.map(name).join(" → ")}</span>
            <a class="x" href={to(route, { drops: route.drops.filter((_, j) => j !== i) })} aria-label={"Restore " + drop.map(name).join(" ")}>×</a>
          </li>
        ))}
        {!spans && transforms.map((one, i) => (
          <li class="drop" data-what="transform">
            <span>{transformText(one, names.get(one.block))}</span>
            <a class="x" href={to(route, { transforms: route.transforms.filter((_, j) => j !== i), rest: withoutPlace(route.rest) })} aria-label={"Undo " + transformText(one, names.get(one.block))}>×</a>
          </li>
        ))}
        {spans && route.choice && (
          <li class="choice">
            <span>{choiceText(route.choice, name(route.choice.of))}</span>
            <a class="x" href={to(route, { choice: null })} aria-label="Select all iterations">×</a>
          </li>
        )}
      </ol>
      {!spans && route.choice && (
        <span class="note" data-what="not-chosen">This page shows the whole run. For {choiceText(route.choice, name(route.choice.of))}, see <a href={to(route, { page: "span-tree" })}>its span tree</a>.</span>
      )}
      {narrowed && !spans && part !== undefined && (
        <span class="part" data-what="part" data-value={part}>{figure(part, unit)} <i>{share(part, whole)}</i></span>
      )}
    </nav>
  );
}

const themes: [Theme, string][] = [["", "System theme"], ["light", "Light theme"], ["dark", "Dark theme"]];

// Light, dark, or the system's theme.
function useTheme(): { text: string; turn: () => void } {
  const [, again] = useState(0);
  useEffect(() => color.onTheme(() => again((n) => n + 1)), []);
  const at = () => themes.findIndex(([name]) => name === color.theme());
  return { text: themes[at()][1], turn: () => color.setTheme(themes[(at() + 1) % themes.length][0]) };
}

function Sun() {
  return (
    <svg viewBox="0 0 16 16" width="15" height="15" aria-hidden="true">
      <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.6" /><path d="M8 1.8a6.2 6.2 0 0 1 0 12.4z" fill="currentColor" />
    </svg>
  );
}

// Short warnings about missing data; the title and the page of the run have the full text.
function Badges({ file, route, gone }: { file: File; route: Route; gone: boolean }) {
  const badges: [string, string][] = [];
  if (file.state === "killed") badges.push(["killed", "The program ended without closing its capture, which holds everything recorded until then."]);
  if (file.state === "unclosed") badges.push(["not closed", "The capture was not closed by its program."]);
  if (file.warnings.length) {
    const all = file.warnings.join("\n");
    badges.push([/truncated/.test(all) ? "truncated" : /damaged/.test(all) ? "damaged" : "incomplete", all]);
  }
  return (
    <>
      {gone ? <span class="badge" role="status">cairn view has ended</span> : file.state === "running" && <span class="live" role="status">live</span>}
      {badges.map(([text, title]) => (
        <a class="badge" data-badge={text} href={to(route, { page: "functions", focus: [], drops: [], transforms: [], rest: {} })} title={title}>{text}</a>
      ))}
    </>
  );
}

const MANY = 36; // letters: longer lists of metrics, as for allocations, become a menu

function Metrics({ metrics, metric, link }: { metrics: Metric[]; metric: string; link: (name: string) => string }) {
  if (metrics.length < 2) return null;
  if (metrics.reduce((all, one) => all + one.name.length + 2, 0) > MANY)
    return (
      <label class="group"><b>metric</b>
        <select aria-label="Metric" value={metric} onChange={(event) => go(link((event.target as HTMLSelectElement).value))}>
          {metrics.map((one) => <option value={one.name}>{one.name}</option>)}
        </select>
      </label>
    );
  return (
    <span class="group" role="group" aria-label="Metric">
      {metrics.map((one) => <a href={link(one.name)} aria-current={metric === one.name}>{one.name}</a>)}
    </span>
  );
}

// Table heads stick below the header, whose height varies.
function useHead(): (header: HTMLElement | null) => void {
  const seen = useRef<ResizeObserver | null>(null);
  return useCallback((header: HTMLElement | null) => {
    seen.current?.disconnect();
    if (!header) return;
    const tell = () => document.documentElement.style.setProperty("--head", header.offsetHeight + "px");
    (seen.current = new ResizeObserver(tell)).observe(header);
    tell();
  }, []);
}

// Returns the default page: the fleet, if there is one; spans if only calls were counted.
function landing(file: File | undefined, number: number): string {
  if (file?.fleet && number === 0) return "fleet";
  return file && file.metric === "calls" && file.spans !== 0 ? "timeline" : "flame";
}

function App() {
  const { files, error, gone, look } = useFiles(), head = useHead(), asked = useRoute();
  const route = asked.page ? asked : { ...asked, page: landing(files[Math.min(asked.file, files.length - 1)], asked.file) };
  const [helping, setHelping] = useState(false);
  const [open, setOpen] = useState(false); // the menu, on a phone
  useEffect(() => setOpen(false), [route.page]);
  const theme = useTheme();
  useKeys(route, pages, setHelping, theme.turn);
  usePlace(route, files.length > 0);
  const file = files[Math.min(route.file, files.length - 1)];
  const entry = entries.find((one) => one.page === route.page) || where[0];
  const both = entry.page === "diff" && files.length > 1 ? sidesOf(route, files).map((i) => files[i]) : null;
  useEffect(() => {
    if (file) document.title = entry.text + " · " + (both || [file]).map((one) => one.name).join(" → ") + " · cairn";
  });
  if (!file) return error ? <Problem text={error} /> : <Waiting what="Reading the capture" />;
  // metrics that both files have
  const metrics = both ? both[0].metrics.filter((one) => both[1].metrics.some((other) => other.name === one.name)) : file.metrics;
  const known = metrics.find((one) => one.name === (route.metric || file.metric));
  const metric = known ? known.name : both && metrics.length ? metrics[0].name : file.metric;
  const place: Place = { route: { ...route, file: files.indexOf(file), metric: known ? route.metric : "" }, files, file, metric, unit: known ? known.unit : "" };
  const spans = when.includes(entry), { search } = route;
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")?.focus(); }}>Skip to content</a>
      <header ref={head}>
        <a class="brand" href={to(route, { page: "", focus: [], drops: [], transforms: [], choice: null, rest: {} })} aria-label="cairn"><Mark /> <span class="word">cairn</span></a>
        {both ? <span class="pick" title={both.map((one) => one.path).join(" → ")}>{both.map((one) => one.name).join(" → ")}</span> : files.length > 1 ? (
          <label class="pick"><span class="unseen">file</span>
            <select value={String(files.indexOf(file))} onChange={(event) => go(to(route, { file: Number((event.target as HTMLSelectElement).value), focus: [], drops: [], transforms: [], choice: null, metric: "", rest: {} }))}>
              {files.map((one, i) => <option value={String(i)}>{one.name}</option>)}
            </select>
          </label>
        ) : <span class="pick" title={file.path}>{file.name}</span>}
        <Metrics metrics={metrics} metric={metric} link={(name) => to(route, { metric: name === file.metric ? "" : name, rest: route.rest })} />
        {(both || [file]).map((one, i) => <Badges file={one} route={{ ...place.route, file: files.indexOf(one) }} gone={gone && !i} />)}
        <Search place={place} spans={spans} share={!both} search={search} setSearch={(text) => replace(write({ ...parse(location.hash), search: text }))} />
        <OpenFiles opened={(number) => look().then(() => go(to(route, { page: "", file: number, focus: [], drops: [], transforms: [], choice: null, metric: "", search: "", rest: {} })))} />
        <ExportMenu file={file} number={place.route.file} page={entry.page} />
        <button type="button" class="help" onClick={theme.turn} title={theme.text + " (T)"} aria-label={theme.text}><Sun /></button>
        <button type="button" class="help" onClick={() => setHelping(true)} aria-label="Help: pages and keys">?</button>
      </header>
      <nav class={open ? "menu open" : "menu"} aria-label="Pages">
        <button type="button" class="turn" aria-expanded={open} onClick={() => setOpen(!open)}>{entry.text}<span aria-hidden="true">{open ? "▴" : "▾"}</span></button>
        {file.fleet && <Menu title="Database" list={fleet} route={place.route} />}
        <Menu title="Profile" list={where} route={place.route} />
        <Menu title="Spans" list={when} route={place.route} disabled={file.spans === 0 ? (isLive() ? "no spans in this file" : "no spans in this page") : file.spans === null ? "reading…" : undefined} />
        <Menu title="Queries" list={what.slice(0, 1)} route={place.route} />
        <Menu title="Comparison" list={what.slice(1)} route={place.route} disabled={files.length < 2 ? (isLive() ? "open two files to compare" : "not stored in this page") : undefined} />
      </nav>
      <main id="content" tabIndex={-1} class={callsCounted(file) ? "" : "uncounted"}>
        <h1 class="unseen" tabIndex={-1}>{entry.text}</h1>
        {entry.page !== "diff" && entry.page !== "fleet" && <Crumbs place={place} />}
        {error && <Problem text={error} />}
        {spans && file.spans === null ? <Waiting what="Reading the spans" /> : spans && file.spans === 0 ? <p class="note">No spans were recorded in {file.name}.</p> : entry.show(place, search)}
        {entry.page !== "diff" && entry.page !== "fleet" && <Strip key={file.path} place={place} />}
      </main>
      {helping && <Help pages={pages} close={() => setHelping(false)} />}
    </>
  );
}

color.restoreTheme();
const profile = document.getElementById("profile");
if (profile) {
  const embedded = new Embedded(profile.textContent || "");
  setSource(embedded);
  // For scripts: returns the server's answer to api/....
  (window as any).cairnAsk = (question: string) => {
    const [where, query] = question.split("?");
    return embedded.ask(where, [...new URLSearchParams(query)] as [string, string][]);
  };
}
const page = document.getElementById("page")!;
page.textContent = "";
render(<App />, page);
