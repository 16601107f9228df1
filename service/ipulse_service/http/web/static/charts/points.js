// The values of curves: on a common x axis, at a place, in a part, and smoothed.

const MOST_STOPS = 4000; // of the cursor

/** One list of x values of all curves, then the y values of each; null where a curve has none. */
export function aligned(curves) {
  const xs = [...new Set(curves.flatMap(({ x }) => Array.from(x)))].sort((a, b) => a - b);
  const at = new Map(xs.map((value, place) => [value, place]));
  return [
    xs,
    ...curves.map(({ x, y }) => {
      const values = new Array(xs.length).fill(null);
      for (let place = 0; place < y.length; place += 1) values[at.get(x[place])] = y[place];
      return values;
    }),
  ];
}

/** The x values at which a cursor stops: those of all curves, or a grid where they are very many. */
export function stops(curves, most = MOST_STOPS) {
  const all = new Set();
  for (const { x } of curves) for (let place = 0; place < x.length; place += 1) all.add(x[place]);
  const xs = Float64Array.from(/** @type {Set<number>} */ (all)).sort();
  if (xs.length <= most) return Array.from(xs);
  const [first, last] = [xs[0], /** @type {number} */ (xs.at(-1))];
  return Array.from({ length: most }, (_, n) => first + ((last - first) * n) / (most - 1));
}

/** The number of values of a sorted list that are below `limit`, or equal to it. */
export function countTo(xs, limit) {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The value of a curve at x, or its last one before it; null before the first. */
export function valueAt({ x, y }, at) {
  for (let place = countTo(x, at) - 1; place >= 0; place -= 1) {
    const value = y[place];
    if (value !== null && value !== undefined && !Number.isNaN(value)) return value;
  }
  return null;
}

/** The smallest and the largest finite value of curves from x = `from` to `to`; null without values. */
export function extremes(curves, from, to) {
  let [least, most] = [Infinity, -Infinity];
  const take = (value) => {
    if (!Number.isFinite(value)) return;
    if (value < least) least = value;
    if (value > most) most = value;
  };
  for (const { x, y, low, high } of curves) {
    let [begin, end] = [countTo(x, from), countTo(x, to)];
    if (begin > 0 && x[begin - 1] === from) begin -= 1;
    if (begin === end) [begin, end] = [Math.max(0, begin - 1), Math.min(x.length, end + 1)]; // between two points
    for (let place = begin; place < end; place += 1) {
      take(y[place]);
      if (low) {
        take(low[place]);
        take(high[place]);
      }
    }
  }
  return least > most ? null : [least, most];
}

/**
 * The debiased exponential mean of finite values, weighted by the distance of x values.
 * @param {number} amount from 0 to 0.99
 */
export function smoothed(xs, values, amount) {
  const places = Array.from(values).flatMap((value, at) => (Number.isFinite(value) ? [at] : []));
  const step = places.length > 1 ? (xs[places.at(-1)] - xs[places[0]]) / (places.length - 1) : 1;
  const result = new Array(values.length).fill(null);
  let mean = 0;
  let weight = 0;
  let before = null;
  for (const at of places) {
    const kept = before === null ? 0 : amount ** Math.min(100, Math.max(0, (xs[at] - before) / (step || 1)));
    mean = kept * mean + (1 - amount) * values[at];
    weight = kept * weight + (1 - amount);
    result[at] = mean / weight;
    before = xs[at];
  }
  return result;
}
