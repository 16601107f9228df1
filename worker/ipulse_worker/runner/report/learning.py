"""The learning curves, and the confusion matrix of the held-out samples."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np

from ipulse_worker.runner.report.plots import charts
from ipulse_worker.runner.report.quantities import percent
from ipulse_worker.runner.report.tables import Cell, ReportTable
from ipulse_worker.runner.results.results import Results

_LOSS_LABEL = {"spike_count_mse": "mean square distance (spikes²)"}


def learning(results: Results) -> Dict[str, Any]:
    """Return the values of sections/learning.html."""
    history = results.history
    epochs = list(range(1, len(history.epochs("loss")) + 1))
    accuracy: List[charts.Series] = [
        ("held out", "test", [100 * share for share in history.epochs("test_accuracy")]),
        ("training", "train", [100 * share for share in history.epochs("accuracy")]),
    ]
    loss: List[charts.Series] = [
        ("held out", "test", history.epochs("test_loss")),
        ("training", "train", history.epochs("loss")),
    ]
    has_validation = results.spec.data.validation > 0
    if has_validation:
        shares = history.epochs("validation_accuracy")
        accuracy.insert(1, ("validation", "s2", [100 * share for share in shares]))
        loss.insert(1, ("validation", "s2", history.epochs("validation_loss")))
    chooses = accuracy[1 if has_validation else 0][2]
    best = max(range(len(epochs)), key=lambda at: chooses[at])
    return {
        "best_epoch": epochs[best],
        "best_accuracy": chooses[best] / 100,
        "has_validation": has_validation,
        "kept_epoch": results.kept_epoch,
        "accuracy_plot": charts.curves(
            accuracy,
            epochs,
            "epoch",
            "accuracy (%)",
            charts.percent_range(accuracy),
            f"Accuracy over {len(epochs)} epochs, ending at {accuracy[0][2][-1]:.1f} % held out",
            whole=True,
            show_last=".1f",
        ),
        "loss_plot": charts.curves(
            loss,
            epochs,
            "epoch",
            _LOSS_LABEL.get(results.spec.training.loss, "cross-entropy (nats)"),
            charts.zero_range(loss),
            f"Loss over {len(epochs)} epochs, ending at {loss[0][2][-1]:.3f} held out",
            whole=True,
            show_last=".3f",
        ),
    }


def confusion(results: Results) -> Dict[str, Any]:
    """Return the values of sections/confusion.html."""
    counts = results.evaluation.confusion
    totals, correct = counts.sum(axis=1), np.diag(counts)
    errors = counts - np.diag(correct)
    true, predicted = (int(at) for at in np.unravel_index(np.argmax(errors), errors.shape))
    rows = []
    for label in range(len(counts)):
        share = float(correct[label] / totals[label]) if totals[label] else None
        accuracy = "none held out" if share is None else Cell(percent(share), fraction=share)
        wrong = totals[label] - correct[label]
        rows.append([str(label), f"{totals[label]:,}", f"{wrong:,}", accuracy])
    return {
        "wrong": int(errors.sum()),
        "held_out": int(totals.sum()),
        "most_frequent": int(errors[true, predicted]),
        "true": true,
        "predicted": predicted,
        "plot": charts.confusion_matrix(counts, "Confusion matrix of the held-out samples"),
        "table": ReportTable(["class", "held out", "errors", "accuracy"], rows),
    }
