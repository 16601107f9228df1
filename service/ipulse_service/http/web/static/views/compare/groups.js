// One line a group: the mean of jobs that differ in the seed only, a band of their spread, and the jobs themselves,
// faint.
import { label, metric } from "../../lib/format.js";

export const LINES = {
  jobs: "each job",
  sd: "mean ± std. dev. of a group",
  range: "mean, lowest to highest of a group",
};

/** The groups of several jobs with curves. */
export const hasGroups = ({ groups }) => groups.some((group) => group.jobs.length > 1);

/** The settings of a group in words. */
function words(group, comparison) {
  const short = new Map(comparison.settings.map((one) => [one.name, one.label]));
  const parts = comparison.group_by.map(
    (name) => `${label(short.get(name) ?? name)} ${metric(name, group.values[name])}`,
  );
  return parts.join(", ") || "all jobs";
}

/** The value of a curve at x: between its points on a straight line, null before the first and after the last. */
function valueAt({ x, y }, at, from) {
  let place = from;
  while (place < x.length && x[place] < at) place += 1;
  if (place === x.length || (place === 0 && x[0] > at)) return [null, place];
  if (x[place] === at || y[place] === null || y[place - 1] === null) return [x[place] === at ? y[place] : null, place];
  const share = (at - x[place - 1]) / (x[place] - x[place - 1]);
  return [y[place - 1] + share * (y[place] - y[place - 1]), place];
}

/**
 * Mean and spread of curves at all their x; of those that reach it.
 * @param {{x: number[], y: (number | null)[]}[]} curves @param {"sd" | "range"} kind
 */
function spreadOf(curves, kind) {
  const xs = [...new Set(curves.flatMap(({ x }) => x))].sort((a, b) => a - b);
  const places = curves.map(() => 0);
  const result = { x: xs, y: [], low: [], high: [] };
  for (const at of xs) {
    const values = curves.flatMap((curve, index) => {
      const [value, place] = valueAt(curve, at, places[index]);
      places[index] = place;
      return value === null ? [] : [value];
    });
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const deviation =
      values.length > 1
        ? Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1))
        : 0;
    result.y.push(values.length ? mean : null);
    result.low.push(!values.length ? null : kind === "sd" ? mean - deviation : Math.min(...values));
    result.high.push(!values.length ? null : kind === "sd" ? mean + deviation : Math.max(...values));
  }
  return result;
}

/**
 * The curves of groups in place of those of their jobs.
 * @param {import("../../charts/curve.js").Curve[]} series @param {any} comparison @param {"sd" | "range"} kind
 */
export function grouped(series, comparison, kind) {
  const of = new Map(series.map((one) => [one.id, one]));
  return comparison.groups.flatMap((group, index) => {
    const members = group.jobs.flatMap((id) => of.get(id) ?? []);
    if (!members.length) return [];
    const id = `group-${index}`;
    const color = `--s${(index % 8) + 1}`;
    const dash = index < 8 ? undefined : [6, 4];
    const spread = spreadOf(
      members.map(({ x, y }) => ({ x: [...x], y: [...y] })),
      kind,
    );
    const count = members.length > 1 ? ` (${members.length})` : "";
    return [
      ...members.map((one) => ({ ...one, color, dash: undefined, faint: true, owner: id })),
      { id, label: `${words(group, comparison)}${count}`, color, dash, ...spread },
    ];
  });
}
