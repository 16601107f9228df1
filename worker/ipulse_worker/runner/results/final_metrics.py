"""The metrics of a job's summary."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np

from ipulse_core.spec.derived_values import score_name
from ipulse_worker.runner.results.results import Results
from ipulse_worker.runner.training.synaptic_operations import summary_of


def final_metrics(results: Results) -> Dict[str, float]:
    """Return the metrics of the job's summary."""
    epochs = [record for record in results.history.records if record["scope"] == "epoch"]
    last, kept = epochs[-1], epochs[results.kept_epoch - 1]
    metrics, score = results.evaluation.metrics, score_name(results.spec.training)
    train: Dict[str, Any] = results.profile["execution"]["runs"][0]
    phases = results.profile["execution"]["phases"]
    summary = {
        f"test_{score}": metrics.score,
        "test_loss": metrics.loss,
        score: kept[score],
        "loss": kept["loss"],
        "epochs": float(last["epoch"]),
        "steps": float(last["step"]),
        "kept_epoch": float(results.kept_epoch),
        "dropped_spikes": float(np.sum(results.dropped_in_training)),
        "run_seconds": train["seconds"],
        "seconds": sum(phase["seconds"] for phase in phases),
    }
    summary.update(summary_of(results.profile["operations"]))
    errors = results.evaluation.errors
    if errors is not None and errors.r2 is not None:
        summary["test_r2"] = errors.r2
    for name in (f"validation_{score}", "validation_loss"):
        if name in kept:
            summary[name] = kept[name]
    if train["samples_per_second"] is not None:
        summary["samples_per_second"] = train["samples_per_second"]
    return summary


def held_out_score(summary: Dict[str, float]) -> str:
    """Return the main figure of a summary in words, such as `accuracy 97.5 %`."""
    if "test_accuracy" in summary:
        return f"accuracy {100 * summary['test_accuracy']:.1f} %"
    return f"mean absolute error {summary['test_mae']:.4g}"
