"""The metrics of a job's summary."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np

from ipulse_worker.runner.results.results import Results


def final_metrics(results: Results) -> Dict[str, float]:
    """Return the metrics of the job's summary."""
    epochs = [record for record in results.history.records if record["scope"] == "epoch"]
    last, kept = epochs[-1], epochs[results.kept_epoch - 1]
    metrics = results.evaluation.metrics
    train: Dict[str, Any] = results.profile["execution"]["runs"][0]
    phases = results.profile["execution"]["phases"]
    summary = {
        "test_accuracy": metrics.accuracy,
        "test_loss": metrics.loss,
        "accuracy": kept["accuracy"],
        "loss": kept["loss"],
        "epochs": float(last["epoch"]),
        "steps": float(last["step"]),
        "kept_epoch": float(results.kept_epoch),
        "dropped_spikes": float(np.sum(results.dropped_in_training)),
        "run_seconds": train["seconds"],
        "seconds": sum(phase["seconds"] for phase in phases),
    }
    for name in ("validation_accuracy", "validation_loss"):
        if name in kept:
            summary[name] = kept[name]
    if train["samples_per_second"] is not None:
        summary["samples_per_second"] = train["samples_per_second"]
    return summary
