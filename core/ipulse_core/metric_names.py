"""The meaning of the names of metrics."""

from __future__ import annotations

# Begins a line that a script prints with metrics as a JSON object.
SCRIPT_METRICS = "ipulse-metrics "
SCRIPT_METRIC = r"[A-Za-z][A-Za-z0-9_./-]{0,63}"  # a name in it
SCRIPT_COUNTS = ("epoch", "epochs", "step", "steps")  # names in it that are no metrics
SMALLER_IS_BETTER = (
    "loss",
    "error",
    "mae",
    "seconds",
    "penalty",
    "overflow",
    "dropped",
    "dead",
    "saturated",
    "energy",
    "synops",
)


def smaller_is_better(metric: str) -> bool:
    """Returns whether a metric should fall, as losses, durations and dropped spikes should."""
    return any(word in metric for word in SMALLER_IS_BETTER)
