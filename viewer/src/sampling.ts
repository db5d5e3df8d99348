// SPDX-License-Identifier: MIT
// 95 % intervals of sampled figures: the formulas of src/profile/sampling.c and interval.c, whose results
// the tests compare.
import { Block } from "./data";
import { Place } from "./parts";

const SURE = 100, Z = 1.959963984540054;

export interface Sampling {
  unit: number; // what one sample stands for
  error: number; // standard error of a total; 0: not known
  open: boolean; // the number of samples is random, too
  kernel_ticks: boolean; // in step with the kernel's clock: there is no interval
}

function ofShare(hits: number, samples: number): [number, number] {
  const middle = hits + (Z * Z) / 2, reach = Z * Math.sqrt((hits * (samples - hits)) / samples + (Z * Z) / 4), share = hits / samples;
  const low = hits > 0 ? (middle - reach) / (samples + Z * Z) : 0, high = hits < samples ? (middle + reach) / (samples + Z * Z) : 1;
  return [Math.min(Math.max(low, 0), share), Math.min(Math.max(high, share), 1)];
}

function ofCount(value: number, unit: number): [number, number] {
  const draws = value / unit, middle = draws + (Z * Z) / 2, reach = Z * Math.sqrt(draws + (Z * Z) / 4);
  return [Math.max(middle - reach, 0) * unit, (middle + reach) * unit];
}

// Returns the interval of a figure of the page's metric; undefined if it is exact, or of enough samples.
export function likelyOf(place: Place, value: number): [number, number] | undefined {
  const metric = place.file.metrics.find((one) => one.name === place.metric), its = metric?.sampling;
  if (!metric || !its || its.kernel_ticks || !value) return undefined;
  const { unit, error, open } = its, total = metric.total;
  if (Math.max(value / unit, error ? (value / error) ** 2 : 0) >= SURE) return undefined;
  if (open) return ofCount(value, unit);
  const share = value / total, [low, high] = ofShare(Math.min(value / unit, total / unit), total / unit), reach = (Z * error) / total;
  return error ? [Math.max(low, share - reach) * total, Math.min(high, share + reach) * total] : [low * total, high * total];
}

// Returns the interval of a block's total; undefined also for the root, as the whole has none.
export const likelyBelow = (place: Place, block: Block, inclusive: number) => (block.id ? likelyOf(place, inclusive) : undefined);
