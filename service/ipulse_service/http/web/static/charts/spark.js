// A curve of a few points in a line of text.
import { html, svg } from "../vendor.js";

const [WIDTH, HEIGHT, EDGE] = [84, 22, 3];

/**
 * @param {(number | null)[]} values
 * @param {string} label what a screen reader says
 * @param {[number, number]} [range] the same for curves that are compared
 */
export function spark(values, label, range) {
  const known = values.flatMap((value, index) =>
    typeof value === "number" && Number.isFinite(value) ? [[index, value]] : [],
  );
  if (!known.length) return html``;
  const numbers = known.map(([, value]) => value);
  const [low, high] = range ?? [Math.min(...numbers), Math.max(...numbers)];
  const x = (index) => EDGE + (index / Math.max(1, values.length - 1)) * (WIDTH - 2 * EDGE);
  const y = (value) => HEIGHT - EDGE - (high > low ? (value - low) / (high - low) : 0.5) * (HEIGHT - 2 * EDGE);
  const at = (/** @type {any[]} */ [index, value]) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`;
  const [lastX, lastY] = at(known.at(-1)).split(",");
  return html`<svg class="spark" width=${WIDTH} height=${HEIGHT} viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label=${label}>
    ${svg`<polyline points=${known.map(at).join(" ")}></polyline><circle cx=${lastX} cy=${lastY} r="2.2"></circle>`}</svg>`;
}
