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

export const trialBadge = (state) => badge(state, TRIAL_KINDS[state]);

/** A pointer into the spec in words: /training/optimizer/learning_rate, /network/layers/0/neurons. */
export function nameOf(pointer) {
  const parts = pointer.split("/").slice(1);
  return label(parts.length > 2 && parts[1] === "layers" ? parts.join(".") : parts.at(-1));
}
