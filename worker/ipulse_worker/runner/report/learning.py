"""How a training went, and what the network still confuses."""

from __future__ import annotations

from html import escape
from typing import Dict, List

import numpy as np

from ipulse_worker.runner.report import plots
from ipulse_worker.runner.report.quantities import percent
from ipulse_worker.runner.report.tables import meter, table
from ipulse_worker.runner.results.results import Results

_LOSS_LABEL = {"spike_count_mse": "mean square distance (spikes²)"}


def learning(results: Results) -> Dict[str, str]:
    history = results.history
    epochs = list(range(1, len(history.epochs("loss")) + 1))
    accuracy: List[plots.Series] = [
        ("held out", "test", [100 * share for share in history.epochs("test_accuracy")]),
        ("training", "train", [100 * share for share in history.epochs("accuracy")]),
    ]
    loss: List[plots.Series] = [
        ("held out", "test", history.epochs("test_loss")),
        ("training", "train", history.epochs("loss")),
    ]
    best = max(range(len(epochs)), key=lambda at: accuracy[0][2][at])
    return {
        "learning_words": escape(
            "Held-out figures are taken after each epoch, training figures are the mean over its "
            f"steps. The held-out accuracy was highest after epoch {epochs[best]} "
            f"({accuracy[0][2][best]:.1f} %); the network of epoch {results.kept_epoch} is what "
            "is kept and what this page reports."
        ),
        "accuracy_plot": plots.curves(
            accuracy,
            epochs,
            "epoch",
            "accuracy (%)",
            plots.percent_range(accuracy),
            f"Accuracy over {len(epochs)} epochs, ending at {accuracy[0][2][-1]:.1f} % held out",
            whole=True,
            show_last=".1f",
        ),
        "loss_plot": plots.curves(
            loss,
            epochs,
            "epoch",
            _LOSS_LABEL.get(results.spec.training.loss, "cross-entropy (nats)"),
            plots.zero_range(loss),
            f"Loss over {len(epochs)} epochs, ending at {loss[0][2][-1]:.3f} held out",
            whole=True,
            show_last=".3f",
        ),
    }


def confusion(results: Results) -> Dict[str, str]:
    counts = results.judgement.confusion
    totals, right = counts.sum(axis=1), np.diag(counts)
    wrong = int(totals.sum() - right.sum())
    pairs = [
        (int(counts[true, predicted]), true, predicted)
        for true in range(len(counts))
        for predicted in range(len(counts))
        if true != predicted and counts[true, predicted]
    ]
    words = f"{wrong:,} of {int(totals.sum()):,} held-out samples are taken for another class."
    if pairs:
        most, true, predicted = max(pairs, key=lambda pair: pair[0])
        times = "once" if most == 1 else f"{most:,} times"
        words += f" The most frequent mistake is a {predicted} seen in a {true}, {times}."
    rows = []
    for label in range(len(counts)):
        share = right[label] / totals[label] if totals[label] else None
        rows.append(
            [
                str(label),
                f"{totals[label]:,}",
                f"{totals[label] - right[label]:,}",
                "none held out" if share is None else percent(share) + meter(float(share)),
            ]
        )
    return {
        "confusion_words": escape(words),
        "confusion_plot": plots.confusion(counts, "Confusion matrix of the held-out samples"),
        "class_table": table(["class", "held out", "mistaken", "accuracy"], rows),
    }
