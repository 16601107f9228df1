// How uPlot draws a curve with x values of its own: hundreds of them need no common list of x values.
import { countTo } from "./points.js";

const BOTH = 3; // uPlot's flag: fill and stroke are clipped

/** Where a value is on the canvas, for many values of one scale. */
function placesOf(plot, name) {
  const { min, max, distr } = plot.scales[name];
  const { left, top, width, height } = plot.bbox;
  const [from, size] = name === "x" ? [left, width] : [top + height, -height];
  const scale = distr === 3 ? Math.log10 : (value) => value;
  const [low, high] = [scale(min), scale(max)];
  return (value) => from + ((scale(value) - low) / (high - low)) * size;
}

/** The places of the points that are seen, and one on either side. @returns {[number, number]} */
function seen(plot, { x }) {
  const { min, max } = plot.scales.x;
  return [Math.max(0, countTo(x, min) - 2), Math.min(x.length, countTo(x, max) + 1)];
}

function through(path, curve, y, [begin, end], across, down) {
  let isDrawing = false;
  for (let place = begin; place < end; place += 1) {
    if (!Number.isFinite(y[place])) continue;
    if (isDrawing) path.lineTo(across(curve.x[place]), down(y[place]));
    else path.moveTo(across(curve.x[place]), down(y[place]));
    isDrawing = true;
  }
}

/** What uPlot draws of a curve without a line. */
export const noPath = () => ({ stroke: new Path2D(), fill: null, clip: null, band: null, flags: BOTH });

/** The line of a curve, and the band around it if it has one. */
export function linePath(plot, curve) {
  const [across, down] = [placesOf(plot, "x"), placesOf(plot, "y")];
  const part = seen(plot, curve);
  const stroke = new Path2D();
  through(stroke, curve, curve.y, part, across, down);
  return { stroke, fill: curve.low ? bandPath(curve, part, across, down) : null, clip: null, band: null, flags: BOTH };
}

function bandPath({ x, low, high }, [begin, end], across, down) {
  const path = new Path2D();
  const places = Array.from({ length: end - begin }, (_, n) => begin + n).filter(
    (place) => Number.isFinite(low[place]) && Number.isFinite(high[place]),
  );
  places.forEach((place, n) => (n ? path.lineTo : path.moveTo).call(path, across(x[place]), down(high[place])));
  for (const place of places.reverse()) path.lineTo(across(x[place]), down(low[place]));
  path.closePath();
  return path;
}

/** A disc at each point of a curve. @param {number} size its radius on the canvas */
export function pointsPath(plot, curve, size) {
  const [across, down] = [placesOf(plot, "x"), placesOf(plot, "y")];
  const path = new Path2D();
  const [begin, end] = seen(plot, curve);
  for (let place = begin; place < end; place += 1) {
    if (!Number.isFinite(curve.y[place])) continue;
    const [left, top] = [across(curve.x[place]), down(curve.y[place])];
    path.moveTo(left + size, top);
    path.arc(left, top, size, 0, 2 * Math.PI);
  }
  return { stroke: path, fill: path, clip: null, flags: BOTH };
}
