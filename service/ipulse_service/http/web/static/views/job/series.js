// Metrics as curves: which belong on one chart, what each is called, and its x values.
import { isShare, label, layerTitle, metric } from "../../lib/format.js";

const TITLES = { accuracy: "Accuracy", mae: "Mean absolute error", loss: "Loss" }; // of all samples
const GROUPS = [
  ["Learning", ["accuracy", "mae", "loss"]],
  ["Activity", ["firing_rate", "gradient_set", "overflow"]],
  ["Optimisation", ["learning_rate", "gradient_norm", "second_threshold", "capacity", "penalty"]],
  ["Speed", ["samples_per_second"]],
];
const SPLIT = new Set(["accuracy", "mae", "loss"]);
const STEP_LIKE = new Set(["learning_rate", "second_threshold", "capacity"]); // never smoothed
const COLOURS = ["--s1", "--s2", "--s3", "--s4", "--s5", "--s6", "--s7", "--s8"];

/**
 * test_loss, validation_loss and loss are of one kind, firing_rate/1 and firing_rate/2 of another.
 * @param {string} name
 */
export const kindOf = (name) => name.replace(/^(test|validation)_/, "").split("/")[0];
export const titleOf = (kind) => TITLES[kind] ?? label(kind);
export const isStepLike = (kind) => STEP_LIKE.has(kind);

/** "test, each epoch", "training, each batch", "layers[1], epoch mean" */
function labelOf({ name, scope, heldOut }) {
  const kind = kindOf(name);
  const layer = name.split("/")[1];
  const split = name.startsWith("test_")
    ? heldOut
    : name.startsWith("validation_")
      ? "validation"
      : SPLIT.has(kind)
        ? "training"
        : "";
  const part = layer === undefined ? "" : layerTitle(layer);
  const time =
    scope === "step"
      ? "each batch"
      : split === "training" || kind === "firing_rate" || kind === "gradient_set"
        ? "epoch mean"
        : "";
  return [split, part, time].filter(Boolean).join(", ") || titleOf(kind);
}

/**
 * Kinds of metrics that say something, in groups; others are named in `flat`.
 * @param {Iterable<import("./store.js").Series>} all
 */
export function charts(all) {
  const kinds = new Map();
  for (const one of all) kinds.set(kindOf(one.name), [...(kinds.get(kindOf(one.name)) ?? []), one]);
  const flat = [];
  for (const [kind, list] of kinds) {
    const values = new Set(list.flatMap((one) => one.values));
    const isFlat =
      !SPLIT.has(kind) &&
      list.every((one) => new Set(one.values).size === 1) &&
      list.some((one) => one.values.length > 2);
    if (isFlat || [...values].every((value) => value === 0 || value === 1)) {
      flat.push(`${titleOf(kind)}: always ${[...values].map((value) => metric(kind, value)).join(" or ")}`);
      kinds.delete(kind);
    }
  }
  const known = new Set(GROUPS.flatMap(([, names]) => names));
  const others = [...kinds.keys()].filter((kind) => !known.has(kind)).sort();
  /** @type {[string, any[]][]} */
  const groups = /** @type {any[]} */ ([...GROUPS, ["Other", others]]).map(([title, names]) => [
    title,
    names.filter((kind) => kinds.has(kind)).map((kind) => [kind, kinds.get(kind)]),
  ]);
  return { groups: groups.filter(([, list]) => list.length), flat };
}

/**
 * The series of one chart for ip-curve.
 * @param {import("./store.js").Series[]} list
 * @param {"epoch" | "step" | "time" | "wall"} x
 */
export function curvesOf(list, x) {
  const names = [...new Set(list.map(({ name }) => name))].sort(
    (a, b) => order(a) - order(b) || a.localeCompare(b, "en", { numeric: true }),
  );
  const hasEpochs = new Set(list.filter(({ scope }) => scope === "epoch").map(({ name }) => name));
  const sorted = [...list].sort((a, b) =>
    a.scope === b.scope ? names.indexOf(a.name) - names.indexOf(b.name) : a.scope === "step" ? -1 : 1,
  );
  return sorted.map((one) => ({
    id: `${one.scope} ${one.name}`,
    label: labelOf(one),
    color: COLOURS[names.indexOf(one.name) % COLOURS.length],
    x: one[x],
    y: isShare(one.name) ? one.values.map((value) => 100 * value) : one.values,
    faint: one.scope === "step" && hasEpochs.has(one.name),
    points: one.values.length === 1,
  }));
}

const order = (name) => (name.startsWith("test_") ? 0 : name.startsWith("validation_") ? 1 : 2);

/** The unit of a chart's y axis. */
export const unitOf = (kind) => (isShare(kind) ? "%" : kind === "overflow" || kind === "capacity" ? "spikes" : "");
