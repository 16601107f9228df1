from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import numpy as np
import pytest

from ipulse_core.errors import InvalidSpec
from ipulse_worker.runner.cancellation import Cancellation, Cancelled
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.training.checkpoint import load, save
from ipulse_worker.runner.training.divergence import Diverged
from ipulse_worker.runner.training.evaluation import evaluate
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.work_dir import WorkDir
from tests.worker.runner.trainings import recorded_progress, spec_of, training_of

DIGEST = "00" * 32
DROPOUT: Dict[str, Any] = {
    "layers": [{"neurons": 20, "dropout": 0.2}, {"neurons": 16, "dropout": 0.3}],
    "readout": {"dropout": 0.1},
}

EVERYTHING = spec_of(
    network={
        "layers": [
            {"neurons": 20, "second_threshold": 0.8},
            {"neurons": 16, "second_threshold": 1.0, "capacity": {"grow": 2}},
        ],
        "initial_membrane_std": 0.4,
    },
    training={
        "epochs": 40,
        "batch_size": 32,
        "optimizer": {"kind": "sgd", "learning_rate": 1.0},
        "second_threshold_ramp": {"start": 0.0, "epochs": 3, "shape": "cosine"},
        "regularisers": [{"kind": "lower"}, {"kind": "upper", "layers": [2], "spikes": 0.1}],
        "gradient_clipping": {"value": 0.05, "global_norm": 0.2},
        "schedule": {"shape": "cosine", "warmup_steps": 2},
        "early_stopping": {"metric": "test_accuracy", "patience": 2},
    },
)


@pytest.fixture
def cancellation() -> Iterator[Cancellation]:
    before = signal.getsignal(signal.SIGTERM)
    request = Cancellation()
    request.defer()
    yield request
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def undisturbed() -> Training:
    training = training_of(EVERYTHING)
    run(training, Cancellation())
    return training


def run(training: Training, cancellation: Cancellation) -> List[int]:
    """Trains; the steps after which it was saved."""
    saved: List[int] = []
    with recorded_progress(training) as (progress, _):
        training.run(progress, cancellation, lambda: saved.append(training.step))
    return saved


def stop_after(
    training: Training, step: int, cancellation: Cancellation, how: str = "requested"
) -> None:
    """Asks for a stop while a step runs: the training reads the kernels' clock in every step."""
    real = training.kernel_seconds

    def read_clock() -> Dict[str, float]:
        if training.step == step:
            setattr(cancellation, how, True)
        return real()

    training.kernel_seconds = read_clock


def same_bits(left: List[np.ndarray], right: List[np.ndarray]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(left, right))


def assert_same(one: Training, other: Training) -> None:
    """Bit for bit, in everything that a report shows."""
    assert one.history.text() == other.history.text()
    assert same_bits(one.model.trained, other.model.trained)
    assert one.model.limits.equals(other.model.limits)
    assert one.kept_epoch == other.kept_epoch
    before, after = one.state(), other.state()
    assert list(before) == list(after)
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


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

    @pytest.mark.parametrize("network", [None, DROPOUT], ids=["plain", "dropout"])
    def test_resumed_within_an_epoch_ends_with_the_same_bits(
        self, network: Optional[Dict[str, Any]], cancellation: Cancellation, tmp_path: Path
    ) -> None:
        """Three steps an epoch: the file is written after the fourth of nine, and read again."""
        spec = spec_of() if network is None else spec_of(network=network)
        undisturbed = training_of(spec)
        run(undisturbed, cancellation)

        stopped = training_of(spec)
        stop_after(stopped, 4, cancellation)
        with recorded_progress(stopped) as (progress, _), pytest.raises(Cancelled):
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

    def test_with_everything_that_changes_has_changed_it(self, undisturbed: Training) -> None:
        by_epoch = undisturbed.history.epochs
        assert by_epoch("capacity/2")[-1] > 2
        assert by_epoch("second_threshold/1")[0] < by_epoch("second_threshold/1")[-1]
        assert undisturbed.stopped_early
        assert undisturbed.step < undisturbed.schedule.steps
        assert undisturbed.kept_epoch < len(by_epoch("loss"))

    @pytest.mark.parametrize("step", [1, 7])
    def test_resumed_with_everything_that_changes_ends_with_the_same_bits(
        self, step: int, undisturbed: Training, cancellation: Cancellation, tmp_path: Path
    ) -> None:
        """Three steps an epoch: capacities grow, second thresholds rise, momentum is kept, and
        the best weights are put back."""
        stopped = training_of(EVERYTHING)
        stop_after(stopped, step, cancellation)
        with recorded_progress(stopped) as (progress, _), pytest.raises(Cancelled):
            stopped.run(
                progress,
                cancellation,
                lambda: save(stopped.checkpoint(DIGEST), WorkDir(tmp_path), "c.npz"),
            )
        cancellation.requested = False
        resumed = training_of(EVERYTHING)
        resumed.resume(load(tmp_path / "c.npz", DIGEST, like=resumed.state()))
        run(resumed, cancellation)
        assert_same(resumed, undisturbed)

    def test_resumed_after_the_end_is_the_same_training(
        self, undisturbed: Training, cancellation: Cancellation
    ) -> None:
        resumed = training_of(EVERYTHING)
        resumed.resume(undisturbed.checkpoint(DIGEST))
        run(resumed, cancellation)
        assert resumed.times.count == 0
        assert_same(resumed, undisturbed)

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
