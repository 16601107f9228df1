"""The meaning of the names of metrics."""

from __future__ import annotations

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
