"""A training with a validation part: the test samples never choose what is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import List

import numpy as np
import pytest

from ipulse_worker.runner.cancellation import Cancellation, Cancelled
from ipulse_worker.runner.training.checkpoint import load, save
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.work_dir import WorkDir
from tests.worker.runner.trainings import recorded_progress, spec_of, training_of

DIGEST = "00" * 32
SPEC = spec_of(
    data={"kind": "digits", "samples": 200, "validation": 0.25},
    training={
        "epochs": 30,
        "batch_size": 32,
        "optimizer": {"kind": "sgd", "learning_rate": 1.0},
        "early_stopping": {"patience": 3},
    },
)


def run(training: Training, cancellation: Cancellation) -> Training:
    with recorded_progress(training) as (progress, _):
        training.run(progress, cancellation, lambda: None)
    return training


def bits(arrays: List[np.ndarray]) -> List[bytes]:
    return [array.tobytes() for array in arrays]


def test_the_test_samples_never_choose(cancellation: Cancellation) -> None:
    """With other labels of the test samples, only the figures of the test differ."""
    one = run(training_of(SPEC), cancellation)
    other = training_of(SPEC)
    labels = other.dataset.labels.copy()
    labels[other.dataset.test] = (labels[other.dataset.test] + 1) % 10
    other.dataset = replace(other.dataset, labels=labels)
    run(other, cancellation)
    assert one.history.epochs("test_loss") != other.history.epochs("test_loss")
    losses = one.history.epochs("validation_loss")
    assert losses == other.history.epochs("validation_loss")
    assert one.kept_epoch == other.kept_epoch == 1 + int(np.argmin(losses))
    assert bits(one.model.trained) == bits(other.model.trained)
    best_of_test = {1 + int(np.argmin(each.history.epochs("test_loss"))) for each in (one, other)}
    assert best_of_test != {one.kept_epoch}, "the test samples would have chosen otherwise"


def test_resumed_within_an_epoch_keeps_the_same(cancellation: Cancellation, tmp_path: Path) -> None:
    whole = run(training_of(SPEC), cancellation)
    stopped = training_of(SPEC)
    real = stopped.kernel_seconds

    def stopping() -> object:
        cancellation.requested = stopped.step >= 5
        return real()

    stopped.kernel_seconds = stopping  # type: ignore[assignment]
    with recorded_progress(stopped) as (progress, _), pytest.raises(Cancelled):
        stopped.run(progress, cancellation, lambda: None)
    cancellation.requested = False
    work = WorkDir(tmp_path)
    save(stopped.checkpoint(DIGEST), work, "checkpoint.npz")
    resumed = training_of(SPEC)
    resumed.resume(load(tmp_path / "checkpoint.npz", DIGEST, like=resumed.state()))
    run(resumed, cancellation)
    assert resumed.history.text() == whole.history.text()
    assert resumed.kept_epoch == whole.kept_epoch
    assert bits(resumed.model.trained) == bits(whole.model.trained)
