// SPDX-License-Identifier: MIT
// The frame of all pages: themes, keys, focus, accessibility.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { framesOf } from "./frames.mjs";

// Runs axe-core on the page, with the rules of WCAG 2.2 AA. Returns what it finds, as text.
export async function violationsOf(page, packages, where) {
  const size = page.viewportSize();
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(readFileSync(join(packages, "node_modules/axe-core/axe.min.js"), "utf8"));
  const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }));
  return violations.map((one) => `${where} at ${size.width}: ${one.id}: ${one.nodes[0].html.slice(0, 120)}`);
}

export default function frame({ test, at, go, settled, quiet, same, holds, json, files, packages }) {
  const jobs = files.indexOf("jobs.cairn");
  const paper = () => at().evaluate(() => getComputedStyle(document.body).backgroundColor);

  test("the theme button switches between light, dark and the system's theme", async () => {
    await at().emulateMedia({ colorScheme: "light" });
    await go("flame");
    await settled(".flame canvas");
    const light = await paper(), drawn = () => at().$eval(".flame canvas", (one) => one.toDataURL());
    const before = await drawn();
    await at().emulateMedia({ colorScheme: "dark" });
    await quiet();
    const dark = await paper();
    holds(light !== dark, "the system's theme");
    await at().emulateMedia({ colorScheme: "light" });
    await quiet();
    same([await paper(), await drawn()], [light, before], "light again");
    await at().click('button[aria-label$=" theme"]');
    same(await paper(), light, "light by choice");
    await at().keyboard.press("T");
    same(await paper(), dark, "dark by choice");
    await quiet();
    holds((await drawn()) !== before, "the picture is redrawn");
    await at().reload();
    await settled(".flame canvas");
    same(await paper(), dark, "the choice is stored");
    await at().keyboard.press("T");
    same(await paper(), light, "as the system");
  });

  test("the list of keys opens, closes, and names every page", async () => {
    await go("overall");
    await settled("tbody tr");
    await at().keyboard.press("?");
    await at().waitForSelector("dialog[open]");
    const text = (await at().textContent("dialog")).toLowerCase();
    for (const name of await at().$$eval(".menu a", (all) => all.map((one) => one.textContent.toLowerCase()))) holds(text.includes(name), name + " is not in it");
    await at().keyboard.press("Escape");
    await at().waitForSelector("dialog", { state: "detached" });
  });

  test("the first Tab stop skips to the content, and the focus follows links", async () => {
    await at().goto("about:blank");
    await go("overall");
    await settled("tbody tr");
    await at().keyboard.press("Tab");
    same(await at().evaluate(() => document.activeElement.className), "skip", "the first");
    await at().keyboard.press("Enter");
    same(await at().evaluate(() => document.activeElement.id), "content", "skips to the content");
    for (const [key, name] of [["3", "Callers & callees"], ["4", "Hot paths"]]) {
      await at().keyboard.press("g");
      await at().keyboard.press(key);
      await at().waitForFunction((text) => document.activeElement.tagName === "H1" && document.activeElement.textContent === text, name);
    }
    same(await at().$$eval("header, main, nav[aria-label], form[role=search]", (all) => all.map((one) => one.tagName)), ["HEADER", "FORM", "NAV", "MAIN", "NAV"], "landmarks");
  });

  test("axe-core finds no accessibility violations", async () => {
    const found = [], size = at().viewportSize();
    for (const width of [1440, 390]) {
      await at().setViewportSize({ width, height: 900 });
      for (const [where, selector] of [["flame", ".flame canvas"], ["overall?top=4", "tbody tr"], ["sequence?focus=40", "tr[data-step]"], ["graph?nodes=15", "a.node"], ["flame?beside=1&fn=138", "section[data-flame] canvas"], ["tree?", "tr[aria-level]"], ["tree?callers=1", "tr[aria-level]"],
        ["diff?top=3", ".flame canvas"], [`timeline?file=${jobs}&span=3&range=1000-90000000`, ".range-panel tr[data-block]"], [`spans?file=${jobs}`, "tr[data-block]"], [`iterations?file=${jobs}`, ".u-over"],
        [framesOf(files, json), ".frames .plot"], [`explain?file=${jobs}`, '[data-what="answer"]'], [`whatif?file=${jobs}`, '[data-what="effects"]'], [`missing?file=${jobs}`, '[data-what="missing"]'], [`sql?file=${jobs}&q=select id, name, start from spans`, '[data-what="result"]']]) {
        await go(where);
        await settled(selector);
        found.push(...(await violationsOf(at(), packages, where)));
      }
    }
    await at().setViewportSize(size);
    same(found, [], "violations");
  });
}
