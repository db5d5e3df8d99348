// SPDX-License-Identifier: MIT
// The page by keyboard alone: every control of every view is reached by Tab, is seen when it has the
// focus, and nothing holds the focus.
import { framesOf } from "./frames.mjs";

const LONGEST = 900; // stops of a page

// Runs in the page: the controls that Tab stops at, in order.
const stopsOf = () => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
  .filter((one) => one.tabIndex >= 0 && !one.disabled && one.getClientRects().length && getComputedStyle(one).visibility === "visible" &&
    !(one.closest("details:not([open])") && !(one.tagName === "SUMMARY" && one.parentElement === one.closest("details:not([open])")))).length;

// Runs in the page: what has the focus; "" at the end of the page.
const focused = () => {
  const one = document.activeElement;
  if (!one || one === document.body || one === document.documentElement) return null;
  window.stopNumbers ||= new WeakMap();
  const before = window.stopNumbers.get(one);
  if (before === undefined) window.stopNumbers.set(one, (window.stopCount = (window.stopCount || 0) + 1));
  const box = [...one.getClientRects()].find((each) => each.width && each.height) || one.getBoundingClientRect(), style = getComputedStyle(one);
  const x = Math.min(Math.max(box.left + Math.min(box.width / 2, 30), 1), innerWidth - 1), y = box.top + Math.min(box.height / 2, 10);
  const top = document.elementFromPoint(x, y);
  return {
    again: before !== undefined, html: one.outerHTML.slice(0, 140),
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none",
    visible: Boolean(top && (one.contains(top) || top.contains(one) || one.closest("label")?.contains(top))),
  };
};

// Presses Tab from the first control of the page to the last; `check` has `same` and `holds`.
export async function tabThrough(page, where, { same, holds }) {
  await page.evaluate(() => { document.activeElement?.blur(); window.stopNumbers = undefined; window.stopCount = 0; scrollTo(0, 0); getSelection().removeAllRanges(); });
  // From the end of the page, Tab goes to its first control.
  await page.focus(".skip");
  const wanted = await page.evaluate(stopsOf);
  holds(wanted < LONGEST, `${where}: ${wanted} stops`);
  let found = 0;
  for (;;) {
    const one = await page.evaluate(focused);
    if (!one || one.again) break;
    found++;
    holds(one.outlined, `${where}: the focus is not seen on ${one.html}`);
    holds(one.visible, `${where}: something lies over ${one.html}`);
    await page.keyboard.press("Tab");
    holds(found <= wanted, `${where}: Tab comes to more than ${wanted} controls: ${one.html}`);
  }
  same(found, wanted, `${where}: controls that Tab comes to`);
}

export default function keyboard({ test, at, go, settled, same, holds, json, files }) {
  const jobs = files.indexOf("jobs.cairn");

  test("every control of every view is reached by Tab, and seen", async () => {
    const row = json("report", "--json", "lua.cairn", "--flat", "--metric", "ticks", "--top", "0").flat.find((one) => /ordered\.lua$/.test(one.block.file) && one.block.line > 0);
    for (const [where, selector] of [["flame?metric=ticks", ".flame canvas"], ["flame?metric=ticks&beside=1&fn=" + row.block.id, "section[data-flame] canvas"], ["functions?top=12", "tbody tr"], ["paths?top=8", "tbody tr"],
      ["callers?top=8&focus=" + row.block.id, "tr[data-step]"], ["graph?nodes=8", "a.node"], ["tree?", "tr[data-row]"], ["source?", "tr[data-file]"], ["source?block=" + row.block.id, "tr.here"], ["diff?top=6", "table.sides tbody tr"],
      [`timeline?file=${jobs}&span=3`, ".span-card"], [`span-tree?file=${jobs}`, ".flame canvas"], [`spans?file=${jobs}`, "tr[data-block]"], [`slowest?file=${jobs}`, "tr[data-span]"], [`iterations?file=${jobs}`, ".u-over"],
      [framesOf(files, json), ".frames .plot"], [`explain?file=${jobs}`, '[data-what="answer"]'], [`whatif?file=${jobs}`, '[data-what="effects"]'], [`missing?file=${jobs}`, '[data-what="missing"]'], [`sql?file=${jobs}&q=select id, name from spans`, '[data-what="result"]']]) {
      await go(where);
      await settled(selector);
      await tabThrough(at(), where, { same, holds });
    }
  });
}
