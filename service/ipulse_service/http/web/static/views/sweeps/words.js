// Names and states of sweeps.
import { label } from "../../lib/format.js";
import { badge } from "../../parts/badge.js";

const KINDS = { running: "active", paused: "waiting", stopping: "waiting", ended: "succeeded" };

export const sweepBadge = (sweep) => badge(sweep.state, KINDS[sweep.state]);

const TRIAL_KINDS = {
  running: "active",
  succeeded: "succeeded",
  failed: "failed",
  pruned: "cancelled",
  cancelled: "cancelled",
};

const NOT_BEGUN = new Set(["queued", "blocked"]); // states of jobs

/** The state of a trial; "queued" while none of its jobs has begun. */
export const stateOf = (trial) =>
  trial.state === "running" && trial.jobs.every((job) => NOT_BEGUN.has(job.state)) ? "queued" : trial.state;

export const trialBadge = (trial) => badge(stateOf(trial), TRIAL_KINDS[stateOf(trial)] ?? "waiting");

/** The trials whose values are results: pruned ones have those of fewer epochs. */
export const finished = (trials) => trials.filter((trial) => trial.state === "succeeded" && trial.value !== null);

/** A pointer into the spec in words: /training/optimizer/learning_rate, /network/layers/0/neurons. */
export function nameOf(pointer) {
  const parts = pointer.split("/").slice(1);
  return label(parts.length > 2 && parts[1] === "layers" ? parts.join(".") : parts.at(-1));
}
