// Spearman's rank correlation between a setting and the objective.
import { finished } from "./words.js";

/** Ranks from 1; equal values share the mean of theirs. @param {number[]} values */
function ranks(values) {
  const order = values.map((value, at) => [value, at]).sort((a, b) => a[0] - b[0]);
  const result = new Array(values.length);
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to < order.length && order[to][0] === order[from][0]) to += 1;
    for (let at = from; at < to; at += 1) result[order[at][1]] = (from + to + 1) / 2;
    from = to;
  }
  return result;
}

/** @param {number[]} xs @param {number[]} ys */
function spearman(xs, ys) {
  const [a, b] = [ranks(xs), ranks(ys)];
  const mean = (xs.length + 1) / 2;
  let [ab, aa, bb] = [0, 0, 0];
  a.forEach((rank, at) => {
    ab += (rank - mean) * (b[at] - mean);
    aa += (rank - mean) ** 2;
    bb += (b[at] - mean) ** 2;
  });
  return aa && bb ? ab / Math.sqrt(aa * bb) : 0;
}

/** The correlation of each numeric setting, the strongest first. @param {string[]} pointers @param {any[]} trials */
export function correlations(pointers, trials) {
  const done = finished(trials);
  if (done.length < 4) return [];
  return pointers
    .flatMap((pointer) => {
      const pairs = done
        .map((trial) => [trial.parameters[pointer], trial.value])
        .filter(([x]) => typeof x === "number");
      if (pairs.length < 4 || new Set(pairs.map(([x]) => x)).size < 2) return [];
      return [
        {
          pointer,
          value: spearman(
            pairs.map(([x]) => x),
            pairs.map(([, y]) => y),
          ),
          count: pairs.length,
        },
      ];
    })
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}
