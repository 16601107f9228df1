// The ticks and ranges of a chart's axes.
import { number } from "../lib/format.js";

const WHOLE = new Set(["epoch", "step", "samples", "trial", "program step"]);
const STEPS = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

/** Whether an x axis has whole numbers as ticks. @param {string} name */
export const isWhole = (name) => WHOLE.has(name);

/** The distances that ticks may have there; fractions where less than one step is seen. */
export const wholeSteps = (_plot, _axis, low, high) => (high - low < 1 ? [0.05, 0.1, 0.25, 0.5, 1] : STEPS);

/** Ticks with as many decimals as tell them apart. @param {number[]} ticks */
export function tickTexts(ticks) {
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : 0;
  if (!step || step >= 1 || step < 1e-6) return ticks.map(number);
  const decimals = Math.ceil(-Math.log10(step) - 1e-9) + (/[1-9]0*[1-9]/.test(step.toPrecision(2)) ? 1 : 0);
  return ticks.map((tick) => tick.toFixed(decimals).replace("-", "−"));
}

const LARGEST = 1e300; // the distance of two of them is finite

/** A range with a little space above and below. */
export function rangeOf(least, most) {
  if (least === null || most === null) return [0, 1];
  const [low, high] = [least, most].map((value) => Math.max(-LARGEST, Math.min(LARGEST, value)));
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

/** Whole decades around positive values. */
export function logRange(low, high) {
  if (low === null || high === null || !(low > 0)) return [0.1, 1];
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))].map(
    (power) => 10 ** Math.max(-300, Math.min(300, power)),
  );
  return from === to ? [from / 10, to * 10] : [from, to];
}
