from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Dict, Iterator, List

import numpy as np
import pytest

from worker.runner.cancellation import Cancellation, Cancelled
from worker.runner.checkpoint import load, save
from worker.runner.training import Diverged, Training
from worker.runner.work_dir import WorkDir

from .trainings import spec_of, told, training_of

DIGEST = "00" * 32


@pytest.fixture
def cancellation() -> Iterator[Cancellation]:
    before = signal.getsignal(signal.SIGTERM)
    request = Cancellation()
    request.defer()
    yield request
    signal.signal(signal.SIGTERM, before)


def run(training: Training, cancellation: Cancellation) -> List[int]:
    """Trains; the steps after which it was saved."""
    saved: List[int] = []
    with told(training) as (progress, _):
        training.run(progress, cancellation, lambda: saved.append(training.step))
    return saved


def stop_after(training: Training, step: int, cancellation: Cancellation) -> None:
    """Asks for a stop while a step runs: the training reads the kernels' clock in every step."""
    real = training.kernel_seconds

    def read_clock() -> Dict[str, float]:
        if training.step == step:
            cancellation.requested = True
        return real()

    training.kernel_seconds = read_clock


def same_bits(left: List[np.ndarray], right: List[np.ndarray]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(left, right))


class TestRun:
    def test_learns(self, cancellation: Cancellation) -> None:
        training = training_of(spec_of(training={"epochs": 8, "batch_size": 32}))
        run(training, cancellation)
        losses = training.history.epochs("loss")
        assert len(losses) == 8
        assert losses[-1] < losses[0]

    def test_gives_the_same_bits_on_one_thread_and_on_two(self, cancellation: Cancellation) -> None:
        one, two = training_of(spec_of(), threads=1), training_of(spec_of(), threads=2)
        run(one, cancellation)
        run(two, cancellation)
        assert same_bits(one.model.weights, two.model.weights)
        assert one.history.text() == two.history.text()

    def test_depends_on_the_seed(self, cancellation: Cancellation) -> None:
        one, other = training_of(spec_of(seed=3)), training_of(spec_of(seed=4))
        run(one, cancellation)
        run(other, cancellation)
        assert one.history.text() != other.history.text()

    def test_resumed_within_an_epoch_ends_with_the_same_bits(
        self, cancellation: Cancellation, tmp_path: Path
    ) -> None:
        """Three steps an epoch: the file is written after the fourth of nine, and read again."""
        spec = spec_of()
        undisturbed = training_of(spec)
        run(undisturbed, cancellation)

        stopped = training_of(spec)
        stop_after(stopped, 4, cancellation)
        with told(stopped) as (progress, _), pytest.raises(Cancelled):
            stopped.run(
                progress,
                cancellation,
                lambda: save(stopped.checkpoint(DIGEST), WorkDir(tmp_path), "c.npz"),
            )

        cancellation.requested = False
        resumed = training_of(spec)
        resumed.resume(load(tmp_path / "c.npz", DIGEST, like=resumed.state()))
        assert resumed.step == 4
        run(resumed, cancellation)
        assert same_bits(resumed.model.weights, undisturbed.model.weights)
        assert resumed.history.text() == undisturbed.history.text()
        assert resumed.times.count == 5

    def test_saves_as_often_as_asked_and_at_the_end(self, cancellation: Cancellation) -> None:
        every_second = {"epochs": 5, "batch_size": 32, "checkpoint_epochs": 2}
        assert run(training_of(spec_of(training=every_second)), cancellation) == [6, 12, 15]

    def test_stops_after_the_present_step(self, cancellation: Cancellation) -> None:
        training = training_of(spec_of(training={"epochs": 1000, "batch_size": 32}))
        stop_after(training, 5, cancellation)
        saved: List[int] = []
        with told(training) as (progress, _), pytest.raises(Cancelled):
            training.run(progress, cancellation, lambda: saved.append(training.step))
        assert saved == [3, 5]  # the epoch's checkpoint, and the one of the stop

    def test_saves_nothing_when_stopped_before_the_first_step(
        self, cancellation: Cancellation
    ) -> None:
        cancellation.requested = True
        with pytest.raises(Cancelled):
            run(training_of(spec_of()), cancellation)

    def test_tells_figures_that_add_up(self, cancellation: Cancellation) -> None:
        training = training_of(spec_of())
        with told(training) as (progress, lines):
            training.run(progress, cancellation, lambda: None)
        events = [json.loads(line) for line in lines]
        assert [e["step"] for e in events if "test_loss" in e["values"]] == [3, 6, 9]
        steps = [r for r in training.history.records if r["scope"] == "step"]
        epochs = [r for r in training.history.records if r["scope"] == "epoch"]
        assert [record["step"] for record in steps] == list(range(1, 10))
        # 96 samples in batches of 32, so that an epoch's loss is the plain mean of its steps'.
        mean = np.mean([record["loss"] for record in steps[:3]])
        np.testing.assert_allclose(epochs[0]["loss"], mean, rtol=1e-12)
        dropped = sum(record["overflow/2"] for record in steps[:3])
        assert epochs[0]["overflow/2"] == dropped


class TestDiverged:
    def test_says_where_and_the_cure(self, cancellation: Cancellation) -> None:
        # Each step makes the weights 10,000 times as large.
        optimizer = {"kind": "adamw", "learning_rate": 10.0, "weight_decay": 1000.0}
        training = training_of(spec_of(training={"epochs": 9, "optimizer": optimizer}))
        with pytest.raises(Diverged, match=r"step \d+ \(epoch \d\): lower training\.optimizer"):
            run(training, cancellation)

    def test_is_seen_in_weights_that_the_loss_does_not_show(
        self, cancellation: Cancellation
    ) -> None:
        """A neuron with a weight that is no number never spikes, so the loss stays finite."""
        training = training_of(spec_of())
        weights = training.model.weights
        weights[0][:, 5] = np.nan
        training.model.weights = weights
        with pytest.raises(Diverged, match="a weight is no longer a finite number at step 3"):
            run(training, cancellation)
