// SPDX-License-Identifier: MIT
// The order of lanes: pinned ones come first, collapsed ones show one row.
import { count } from "./format";
import { Lane, laneName } from "./lanes";

export interface LaneOrder { pinned: number[]; shut: number[]; order: number[]; }

const numbers = (text: string | undefined): number[] => (text || "").split(".").filter((part) => /^\d+$/.test(part)).map(Number);

export const orderOf = (rest: Record<string, string>): LaneOrder => ({ pinned: numbers(rest.pin), shut: numbers(rest.shut), order: numbers(rest.order) });

// Returns the lanes as they are shown: pinned ones, the others that were put in order, the rest.
export function arrange(lanes: Lane[], { pinned, shut, order }: LaneOrder): Lane[] {
  const place = new Map([...pinned, ...order.filter((one) => !pinned.includes(one))].map((lane, i) => [lane, i]));
  const at = (lane: Lane) => place.get(lane.lane) ?? place.size + lane.lane;
  return [...lanes].sort((a, b) => at(a) - at(b)).map((lane) => (shut.includes(lane.lane) ? { ...lane, rows: 1 } : lane));
}

const toggled = (list: number[], one: number): number[] => (list.includes(one) ? list.filter((other) => other !== one) : [...list, one]);

export function LaneList({ lanes, its, change }: { lanes: Lane[]; its: LaneOrder; change: (rest: Record<string, string>) => void }) {
  const move = (i: number, by: number) => {
    const all = lanes.map((lane) => lane.lane), [one] = all.splice(i, 1);
    all.splice(i + by, 0, one);
    change({ order: all.join("."), pin: its.pinned.length ? all.filter((lane) => its.pinned.includes(lane)).join(".") : "" });
  };
  return (
    <details class="lane-list">
      <summary>Order of lanes{its.pinned.length ? ", " + its.pinned.length + " pinned" : ""}{its.shut.length ? ", " + its.shut.length + " collapsed" : ""}</summary>
      <ul>
        {lanes.map((lane, i) => {
          const name = laneName(lane, lane.lane), button = (text: string, label: string, pressed: boolean | undefined, act: () => void, disabled = false) => (
            <button type="button" aria-label={label + " " + name} aria-pressed={pressed} disabled={disabled} onClick={act}>{text}</button>
          );
          const first = i === 0, free = !its.pinned.includes(lane.lane) && its.pinned.includes(lanes[i - 1]?.lane);
          return (
            <li data-lane={lane.lane}>
              {button("pin", "Pin", its.pinned.includes(lane.lane), () => change({ pin: toggled(its.pinned, lane.lane).join(".") }))}
              {button("collapse", "Collapse", its.shut.includes(lane.lane), () => change({ shut: toggled(its.shut, lane.lane).join(".") }))}
              {button("↑", "Move up", undefined, () => move(i, -1), first || free)}
              {button("↓", "Move down", undefined, () => move(i, 1), i === lanes.length - 1)}
              <span class="name">{name}</span> <span class="dim">{count(lane.spans)} {lane.spans === 1 ? "span" : "spans"}</span>
            </li>
          );
        })}
      </ul>
      {(its.order.length > 0 || its.pinned.length > 0 || its.shut.length > 0) && <button type="button" onClick={() => change({ pin: "", shut: "", order: "" })}>as recorded</button>}
    </details>
  );
}
