"""The learning curves, and the confusion matrix or the errors of the test samples."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import numpy as np

from ipulse_core.numbers import plain_number
from ipulse_core.spec.derived_values import (
    REGRESSION_LOSSES,
    has_own_loss,
    loss_name,
    score_name,
)
from ipulse_worker.runner.report.plots import charts
from ipulse_worker.runner.report.quantities import percent
from ipulse_worker.runner.report.tables import Cell, ReportTable
from ipulse_worker.runner.results.results import Results

MOST_OUTPUTS = 64  # of a regression that the table lists
_LOSS_LABEL = {
    "spike_count_mse": "mean square distance (spikes²)",
    **dict.fromkeys(REGRESSION_LOSSES, "mean squared error"),
}


def learning(results: Results) -> Dict[str, Any]:
    """Return the values of sections/learning.html."""
    history = results.history
    epochs = list(range(1, len(history.epochs("loss")) + 1))
    is_accuracy = score_name(results.spec.training) == "accuracy"
    score = _by_part(results, score_name(results.spec.training), 100.0 if is_accuracy else 1.0)
    loss = _by_part(results, "loss", 1.0)
    has_validation = results.spec.data.validation > 0
    chooses = score[1 if has_validation else 0][2]
    best = (max if is_accuracy else min)(range(len(epochs)), key=lambda at: chooses[at])
    title, unit = ("Accuracy", " %") if is_accuracy else ("Mean absolute error", "")
    shown = ".1f" if is_accuracy else ".4g"
    return {
        "score": title,
        "best_epoch": epochs[best],
        "best_score": f"{chooses[best]:{shown}}{unit}",
        "is_accuracy": is_accuracy,
        "has_validation": has_validation,
        "kept_epoch": results.kept_epoch,
        "score_plot": charts.curves(
            score,
            epochs,
            "epoch",
            "accuracy (%)" if is_accuracy else "mean absolute error",
            charts.percent_range(score) if is_accuracy else charts.zero_range(score),
            f"{title} over {len(epochs)} epochs, ending at {score[0][2][-1]:{shown}}{unit} held "
            "out",
            whole=True,
            show_last=shown,
        ),
        "loss_plot": charts.curves(
            loss,
            epochs,
            "epoch",
            _loss_label(results),
            charts.zero_range(loss),
            f"Loss over {len(epochs)} epochs, ending at {loss[0][2][-1]:.3f} on the test samples",
            whole=True,
            show_last=".3f",
        ),
    }


def _loss_label(results: Results) -> str:
    training = results.spec.training
    if has_own_loss(training):
        return f"loss {loss_name(training)}"
    return _LOSS_LABEL.get(loss_name(training), "cross-entropy (nats)")


def _by_part(results: Results, name: str, scale: float) -> List[charts.Series]:
    """Return a metric by epoch of the test, the validation and the training samples."""
    parts = [("test", "test", "test_"), ("training", "train", "")]
    if results.spec.data.validation > 0:
        parts.insert(1, ("validation", "s2", "validation_"))
    return [
        (words, kind, [scale * value for value in results.history.epochs(prefix + name)])
        for words, kind, prefix in parts
    ]


def regression(results: Results) -> Optional[Dict[str, Any]]:
    """Return the values of sections/regression.html, None for a classification."""
    errors = results.evaluation.errors
    if errors is None:
        return None
    rows = [
        [str(output), plain_number(squared), plain_number(absolute), _r2(r2)]
        for output, (squared, absolute, r2) in enumerate(
            zip(errors.mean_squared, errors.mean_absolute, errors.by_output)
        )
    ]
    return {
        "held_out": int(results.evaluation.metrics.sums[0]),
        "squared": plain_number(float(np.mean(errors.mean_squared))),
        "absolute": plain_number(float(np.mean(errors.mean_absolute))),
        "r2": None if errors.r2 is None else f"{errors.r2:.3f}",
        "table": ReportTable(
            ["output", "mean squared error", "mean absolute error", "R²"], rows[:MOST_OUTPUTS]
        ),
        "more": max(0, len(rows) - MOST_OUTPUTS),
    }


def _r2(value: Optional[float]) -> str:
    return "constant target" if value is None else f"{value:.3f}"


def confusion(results: Results) -> Optional[Dict[str, Any]]:
    """Return the values of sections/confusion.html, None for a regression."""
    counts = results.evaluation.confusion
    if counts is None:
        return None
    totals, correct = counts.sum(axis=1), np.diag(counts)
    errors = counts - np.diag(correct)
    true, predicted = (int(at) for at in np.unravel_index(np.argmax(errors), errors.shape))
    rows = []
    for label in range(len(counts)):
        share = float(correct[label] / totals[label]) if totals[label] else None
        accuracy = "no test samples" if share is None else Cell(percent(share), fraction=share)
        wrong = totals[label] - correct[label]
        rows.append([str(label), f"{totals[label]:,}", f"{wrong:,}", accuracy])
    return {
        "wrong": int(errors.sum()),
        "held_out": int(totals.sum()),
        "most_frequent": int(errors[true, predicted]),
        "true": true,
        "predicted": predicted,
        "plot": charts.confusion_matrix(counts, "Confusion matrix of the test samples"),
        "table": ReportTable(["class", "test samples", "errors", "accuracy"], rows),
    }
