// Figures for people: each with its split, its scope and its unit.
import { duration, plain } from "./words.js";

// Names of metrics that are fractions, and shown in percent.
const PERCENT = new Set(["accuracy", "firing_rate", "gradient_set"]);
const SPLIT = new Set(["accuracy", "loss"]);
const MEANS = new Set(["firing_rate", "gradient_set"]); // over the batches of an epoch
const FIRST = ["test_accuracy", "test_loss", "accuracy", "loss", "epochs", "run_seconds", "samples_per_second", "dropped_spikes"];

/** test_loss and loss are of one kind, firing_rate/1 and firing_rate/2 of another. */
export const kindOf = (name) => name.replace(/^test_/, "").split("/")[0];
export const isPercent = (kind) => PERCENT.has(kind);

export const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** Four significant digits, thousands separated; an exponent only for what is very small. */
export function number(value) {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  if (Math.abs(value) < 1e-4) return value.toExponential(2);
  return value.toLocaleString("en", { maximumSignificantDigits: 4 });
}

export const figure = (name, value) => (isPercent(kindOf(name)) ? percent(value) : number(value));

/** Events that version 0.1 stored have no scope; only epochs had test metrics. */
export const scopeOf = (metric) => metric.scope ?? ("test_loss" in metric.values ? "epoch" : "step");

/** What a series of a chart shows: "test, each epoch", "training, each batch", "layer 2, epoch mean". */
export function seriesName(name, scope, heldOut) {
  const kind = kindOf(name), layer = name.split("/")[1];
  const split = name.startsWith("test_") ? heldOut : SPLIT.has(kind) ? "training" : "";
  const part = layer === undefined ? "" : /^\d+$/.test(layer) ? `layer ${layer}` : layer;
  const isMean = split === "training" || MEANS.has(kind);
  const time = scope === "step" ? "each batch" : scope === "epoch" ? (isMean ? "epoch mean" : "each epoch") : "since the start";
  return [split, part, time].filter(Boolean).join(", ");
}

/** The main figures of a job as [name with its split and scope, text]: its results, else those of the latest epoch that has ended. */
export function figures(job) {
  const evaluated = job.progress?.evaluated;
  if (!job.summary && !evaluated) return [];
  const values = { ...(job.summary ?? evaluated.values) };
  const epoch = job.summary ? values.kept_epoch : evaluated.epoch;
  delete values.kept_epoch;
  const names = Object.keys(values).filter((name) => job.summary || SPLIT.has(kindOf(name)));
  const rank = (name) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  return names.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b)).map((name) => [title(name, epoch, job), text(name, values[name])]);
}

function title(name, epoch, job) {
  const kind = kindOf(name);
  if (name === "seconds") return "total time";
  if (name.endsWith("_seconds")) return `${plain(name.slice(0, -"_seconds".length))} time`;
  if (!SPLIT.has(kind)) return plain(name);
  const isHeldOut = name.startsWith("test_");
  const scope = epoch === undefined ? "" : isHeldOut ? `, epoch ${number(epoch)}` : `, mean of epoch ${number(epoch)}`;
  return `${isHeldOut ? heldOut(job) : "training"} ${kind}${scope}`;
}

const text = (name, value) => (name.endsWith("seconds") ? duration(value) : figure(name, value));

export const heldOut = (job) => job.progress?.held_out ?? "test";

/** The accuracy on the held-out samples as [text, split, epoch]: of the result, else the latest; null if there is none. */
export function accuracy(job) {
  const evaluated = job.progress?.evaluated;
  const value = job.summary?.test_accuracy ?? evaluated?.values.test_accuracy;
  if (value === undefined) return null;
  return [percent(value), heldOut(job), job.summary?.kept_epoch ?? (job.summary ? null : evaluated.epoch)];
}
