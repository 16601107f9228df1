// One line a group: the mean of jobs that differ in the seed only, a band of their spread, and the jobs themselves,
// faint.
import { lineAt } from "../../charts/palette.js";
import { stops } from "../../charts/points.js";
import { isolated, label, metric } from "../../lib/format.js";
import { html } from "../../vendor.js";

const FEW_SETTINGS = 3; // with more, tables and legends show the names of jobs instead
const MOST_BANDS = 8; // groups with bands and with the curves of their jobs; more hide each other
const MOST_PLACES = 1000; // of a mean

export const LINES = {
  jobs: "each job",
  sd: "mean ± std. dev. of a group",
  range: "mean, lowest to highest of a group",
};

/** The groups of several jobs with curves. */
export const hasGroups = ({ groups }) => groups.some((group) => group.jobs.length > 1);

const PREFERRED = /(^|\.)(kind|neurons)$/;

/**
 * The settings that tell groups apart: of several that separate the same groups, such as those that only one kind of
 * job has, one.
 * @returns {string[]}
 */
export function telling({ groups, group_by: names }) {
  const missing = (name) => groups.filter((group) => group.values[name] === null).length;
  const rank = (name) => 2 * missing(name) + (PREFERRED.test(name) ? 0 : 1);
  const found = new Map();
  for (const name of [...names].sort((a, b) => rank(a) - rank(b))) {
    const numbers = new Map();
    const pattern = groups.map(({ values }) => {
      const value = JSON.stringify(values[name]);
      return numbers.get(value) ?? numbers.set(value, numbers.size).get(value);
    });
    if (!found.has(String(pattern))) found.set(String(pattern), name);
  }
  const kept = new Set(found.values());
  return names.filter((name) => kept.has(name));
}

/** The settings that a group has, in words. @param {string[]} names of settings */
export function words(group, { settings }, names) {
  const short = new Map(settings.map((one) => [one.name, one.label]));
  const parts = names
    .filter((name) => group.values[name] !== null)
    .map((name) => `${label(short.get(name) ?? name)} ${metric(name, group.values[name])}`);
  return parts.join(", ");
}

/**
 * The titles of groups, and the settings in which they differ. If these are many, groups are named after their jobs,
 * and those with one name have their differing settings behind it.
 * @returns {{titles: string[], keys: string[], isLong: boolean}}
 */
export function titled(comparison, keys = telling(comparison)) {
  const { groups, jobs } = comparison;
  const isLong = keys.length > FEW_SETTINGS;
  if (!isLong) return { titles: groups.map((group) => words(group, comparison, keys) || "all jobs"), keys, isLong };
  const called = new Map(jobs.map(({ id, name }) => [id, isolated(name) || "unnamed"]));
  const names = groups.map((group) => {
    const [first, ...others] = new Set(group.jobs.map((id) => called.get(id)));
    return others.length ? `${first}, …` : first;
  });
  const alike = new Map();
  for (const [index, name] of names.entries()) alike.set(name, [...(alike.get(name) ?? []), groups[index]]);
  const apart = new Map([...alike].map(([name, some]) => [name, telling({ groups: some, group_by: keys })]));
  const titles = groups.map((group, index) => {
    const settings = alike.get(names[index]).length > 1 ? words(group, comparison, apart.get(names[index])) : "";
    return settings ? `${names[index]}, ${settings}` : names[index];
  });
  return { titles, keys, isLong };
}

/** The settings of a group, folded: they are many. @param {string[]} keys */
export const folded = (group, comparison, keys) =>
  html`<details class="settings"><summary>Settings</summary>${words(group, comparison, keys)}</details>`;

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
  const xs = stops(curves, MOST_PLACES);
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
  const { titles } = titled(comparison);
  const of = new Map(series.map((one) => [one.id, one]));
  return comparison.groups.flatMap((group, index) => {
    const members = group.jobs.flatMap((id) => of.get(id) ?? []);
    if (!members.length) return [];
    const id = `group-${index}`;
    const line = lineAt(index);
    const spread = spreadOf(
      members.map(({ x, y }) => ({ x: [...x], y: [...y] })),
      kind,
    );
    const count = members.length > 1 ? ` (${members.length})` : "";
    const text = `${titles[index]}${count}`;
    if (comparison.groups.length > MOST_BANDS) return [{ id, label: text, ...line, x: spread.x, y: spread.y }];
    return [
      ...members.map((one) => ({ ...one, color: line.color, dash: undefined, faint: true, owner: id })),
      { id, label: text, ...line, ...spread },
    ];
  });
}
