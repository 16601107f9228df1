// The values of curves: on a common x axis, and smoothed.

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

/** The debiased exponential mean, weighted by the distance of x values. @param {number} amount from 0 to 0.99 */
export function smoothed(xs, values, amount) {
  const places = values.flatMap((value, at) => (value === null ? [] : [at]));
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
