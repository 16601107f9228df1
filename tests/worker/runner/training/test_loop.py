"""A training as a whole: what it learns, saves and reports, and how it stops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import List

import numpy as np
import pytest

from ipulse_core.errors import InvalidSpec
from ipulse_worker.runner.cancellation import Cancellation, Cancelled
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.training.checkpoint import load, save
from ipulse_worker.runner.training.divergence import Diverged
from ipulse_worker.runner.training.evaluation import evaluate
from ipulse_worker.runner.work_dir import WorkDir
from tests.worker.runner.training.runs import (
    DROPOUT,
    STANDARDISED,
    assert_same,
    run,
    same_bits,
    stop_after,
)
from tests.worker.runner.trainings import recorded_progress, spec_of, training_of

DIGEST = "00" * 32


class TestRun:
    @pytest.mark.old_python
    def test_learns(self, cancellation: Cancellation) -> None:
        training = training_of(spec_of(training={"epochs": 8, "batch_size": 32}))
        run(training, cancellation)
        losses = training.history.epochs("loss")
        assert len(losses) == 8
        assert losses[-1] < losses[0]

    @pytest.mark.old_python
    def test_gives_the_same_bits_on_one_thread_and_on_two(self, cancellation: Cancellation) -> None:
        one, two = training_of(spec_of(), threads=1), training_of(spec_of(), threads=2)
        run(one, cancellation)
        run(two, cancellation)
        assert same_bits(one.model.weights, two.model.weights)
        assert one.history.text() == two.history.text()

    @pytest.mark.old_python
    def test_several_steps_an_execution_learn_the_same_and_stop_together(
        self, cancellation: Cancellation, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Three steps an epoch, in one execution: a stop that is asked for waits for the last."""
        spec = spec_of(training={"epochs": 2, "batch_size": 32})
        one = training_of(spec)
        run(one, cancellation)
        monkeypatch.setattr(Model, "steps_per_execution", 3)
        together = training_of(spec)
        run(together, cancellation)
        assert_same(one, together)
        assert together.times.count == 6
        stopped = training_of(spec)
        stop_after(stopped, 0, cancellation)
        with recorded_progress(stopped) as (progress, _), pytest.raises(Cancelled):
            stopped.run(progress, cancellation, lambda: None)
        assert stopped.step == 3
        monkeypatch.setattr(Model, "steps_per_execution", 2)
        with pytest.raises(InvalidSpec, match="steps of an epoch"):
            training_of(spec)

    def test_depends_on_the_seed(self, cancellation: Cancellation) -> None:
        one, other = training_of(spec_of(seed=3)), training_of(spec_of(seed=4))
        run(one, cancellation)
        run(other, cancellation)
        assert one.history.text() != other.history.text()

    def test_standardised_weights_begin_as_active_as_others(
        self, cancellation: Cancellation
    ) -> None:
        """Their results are the weights in use, from which a training starts as it ended."""
        spec = spec_of(network=STANDARDISED)
        one, two = training_of(spec), training_of(spec)
        run(one, cancellation)
        assert np.mean(one.history.epochs("firing_rate/1")) > 0.001
        for array in (one.model.arrays["layer_1"], one.model.arrays["readout"]):
            np.testing.assert_allclose(array.mean(axis=0), 0, atol=1e-6)
        assert list(one.model.arrays) == ["layer_1", "readout"]
        two.model.assign(one.model.arrays)
        losses = [evaluate(it.model, it.dataset, spec).metrics.loss for it in (one, two)]
        assert losses[1] == pytest.approx(losses[0], rel=1e-3)

    def test_dropout_changes_the_training_and_not_the_evaluation(
        self, cancellation: Cancellation
    ) -> None:
        without = {"layers": [{"neurons": 20}, {"neurons": 16}]}
        plain, dropping = (training_of(spec_of(network=it)) for it in (without, DROPOUT))
        losses = [evaluate(it.model, it.dataset, it.spec).metrics.loss for it in (plain, dropping)]
        assert losses[0] == losses[1]
        run(plain, cancellation)
        run(dropping, cancellation)
        assert not same_bits(plain.model.weights, dropping.model.weights)

    def test_dropout_gives_the_same_bits_on_one_thread_and_on_two(
        self, cancellation: Cancellation
    ) -> None:
        one, two = (training_of(spec_of(network=DROPOUT), threads=threads) for threads in (1, 2))
        run(one, cancellation)
        run(two, cancellation)
        assert same_bits(one.model.weights, two.model.weights)
        assert one.history.text() == two.history.text()

    def test_saves_as_often_as_asked_and_at_the_end(self, cancellation: Cancellation) -> None:
        every_second = {"epochs": 5, "batch_size": 32, "checkpoint_epochs": 2}
        assert run(training_of(spec_of(training=every_second)), cancellation) == [6, 12, 15]

    def test_stops_after_the_present_step(self, cancellation: Cancellation) -> None:
        training = training_of(spec_of(training={"epochs": 1000, "batch_size": 32}))
        stop_after(training, 5, cancellation)
        saved: List[int] = []
        with recorded_progress(training) as (progress, _), pytest.raises(Cancelled):
            training.run(progress, cancellation, lambda: saved.append(training.step))
        assert saved == [3, 5]  # the epoch's checkpoint, and the one of the stop

    def test_finishes_after_the_present_step_and_can_go_on(
        self, cancellation: Cancellation, tmp_path: Path
    ) -> None:
        """It is evaluated as after an epoch, and saved as if it had not ended."""
        spec = spec_of()
        undisturbed = training_of(spec)
        run(undisturbed, cancellation)
        training = training_of(spec)
        stop_after(training, 4, cancellation, "finish_requested")
        with recorded_progress(training) as (progress, lines):
            training.run(
                progress,
                cancellation,
                lambda: save(training.checkpoint(DIGEST), WorkDir(tmp_path), "c.npz"),
            )
        assert training.step == 4
        assert training.finished_early
        assert training.epochs_done == pytest.approx(4 / 3, abs=1e-3)
        epochs = [event for event in map(json.loads, lines) if event.get("scope") == "epoch"]
        assert [event["step"] for event in epochs] == [3, 4]
        assert "test_accuracy" in epochs[-1]["values"]
        cancellation.finish_requested = False
        resumed = training_of(spec)
        resumed.resume(load(tmp_path / "c.npz", DIGEST, like=resumed.state()))
        assert resumed.step == 4
        run(resumed, cancellation)
        assert_same(resumed, undisturbed)

    def test_that_finishes_in_its_last_step_is_complete(self, cancellation: Cancellation) -> None:
        training = training_of(spec_of())
        stop_after(training, training.schedule.steps, cancellation, "finish_requested")
        run(training, cancellation)
        assert not training.finished_early
        assert training.epochs_done == 3

    def test_saves_nothing_when_stopped_before_the_first_step(
        self, cancellation: Cancellation
    ) -> None:
        cancellation.requested = True
        with pytest.raises(Cancelled):
            run(training_of(spec_of()), cancellation)

    def test_reported_metrics_are_consistent(self, cancellation: Cancellation) -> None:
        training = training_of(spec_of())
        with recorded_progress(training) as (progress, lines):
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
    def test_names_the_place_and_a_hint(self, cancellation: Cancellation) -> None:
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

    def test_is_seen_in_a_decay_that_the_op_refuses(self, cancellation: Cancellation) -> None:
        layers = [{"neurons": 8}]
        training = training_of(spec_of(network={"layers": layers, "trainable": ["decay"]}))
        trained = training.model.trained
        trained[-1][:] = np.nan
        training.model.trained = trained
        with pytest.raises(Diverged, match="a weight is no longer a finite number at step 0"):
            run(training, cancellation)
