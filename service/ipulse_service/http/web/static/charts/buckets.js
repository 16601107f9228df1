// Points of curves that the service has merged into buckets.

/**
 * @typedef {{x: number[], last: (number | null)[], min: (number | null)[] | null, max: (number | null)[] | null,
 * n: number[] | null}} Buckets  null: no points were merged
 */

/**
 * The line through buckets: the extremes of a bucket are on it, so that an outlier shows at any zoom.
 * @param {Buckets} buckets @param {number} [scale] @returns {{x: number[], y: (number | null)[]}}
 */
export function lineOf({ x, last, min, max, n }, scale = 1) {
  if (!n) return { x, y: scale === 1 ? last : last.map((value) => (value === null ? null : scale * value)) };
  const line = { x: [], y: [] };
  const add = (at, value) => {
    line.x.push(at);
    line.y.push(value === null ? null : scale * value);
  };
  last.forEach((value, index) => {
    const before = index ? x[index - 1] : x[index];
    const width = x[index] - before;
    if (n[index] > 1 && width > 0) {
      add(before + width / 3, min[index]);
      add(before + (2 * width) / 3, max[index]);
    }
    add(x[index], value);
  });
  return line;
}

/** Whether points were merged. @param {Buckets} buckets */
export const isMerged = ({ n }) => n?.some((count) => count > 1) ?? false;

/** With lists also where no points were merged. @param {Buckets} buckets */
const full = ({ x, last, min, max, n }) => ({ x, last, min: min ?? last, max: max ?? last, n: n ?? x.map(() => 1) });

/**
 * The overview with the finer points of a part in its place.
 * @param {Buckets} whole
 * @param {Buckets | undefined} part
 */
export function withPart(whole, part, from, to) {
  if (!part?.x.length) return whole;
  [whole, part] = [full(whole), full(part)];
  const keep = (test) => whole.x.map((value, index) => (test(value) ? index : -1)).filter((index) => index >= 0);
  const [left, right] = [keep((value) => value < from), keep((value) => value > to)];
  const joined = (name) => [
    ...left.map((index) => whole[name][index]),
    ...part[name],
    ...right.map((index) => whole[name][index]),
  ];
  return { x: joined("x"), last: joined("last"), min: joined("min"), max: joined("max"), n: joined("n") };
}
