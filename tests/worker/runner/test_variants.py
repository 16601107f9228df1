"""Every field of network, training and device does what it says: a short training of each."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from ipulse_core.spec.derived_values import spiking_layers
from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.model.weight_names import is_frozen, trained_names
from ipulse_worker.runner.profile.memory import memory
from ipulse_worker.runner.results.neuron_activity import measure_activity
from ipulse_worker.runner.results.nir_export import not_written, write_network
from ipulse_worker.runner.training.evaluation import Evaluation, evaluate
from ipulse_worker.runner.training.loop import Training

from .trainings import recorded_progress
from .variants import VARIANTS, layer, started, training

RECORDED = Path(__file__).with_name("variant_digests.json")
# Recorded by `python -m tests.worker.runner.test_variants`, on either Python.
DIGESTS: Dict[str, Any] = json.loads(RECORDED.read_text("utf-8"))
# Variants with formulas that another TensorFlow, or its graph optimiser, rounds differently.
OLD_PYTHON = (
    *("standardised weights", "standardised convolutions", "first spikes", "own loss"),
    *("bound of the membrane", "trained delays", "adaptive thresholds", "trainable"),
)


def digests_of(run: Training, evaluation: Evaluation) -> Dict[str, str]:
    """Return the beginnings of SHA-256 of the weights and of every metric of a training."""
    metrics = run.history.text() + repr(evaluation.metrics.sums.tolist())
    weights = b"".join(array.tobytes() for array in run.model.trained)
    parts = {"weights": weights, "metrics": metrics.encode()}
    return {name: hashlib.sha256(part).hexdigest()[:16] for name, part in parts.items()}


def trained(run: Training) -> Evaluation:
    """Run a training to its end and evaluate it."""
    with recorded_progress(run) as (progress, _):
        run.run(progress, Cancellation(), lambda: None)
    return evaluate(run.model, run.dataset, run.spec)


def test_every_variant_is_recorded() -> None:
    assert list(DIGESTS) == list(VARIANTS)


@pytest.mark.verify
@pytest.mark.old_python
@pytest.mark.parametrize("name", list(VARIANTS))
def test_every_variant_has_its_recorded_bits(name: str) -> None:
    run = started(VARIANTS[name])
    assert digests_of(run, trained(run)) == DIGESTS[name]


@pytest.mark.sample(24)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.old_python] if name in OLD_PYTHON else [])
        for name in VARIANTS
    ],
)
def test_a_variant_is_trained_evaluated_and_exported(name: str, tmp_path: Path) -> None:
    run = started(VARIANTS[name])
    before = run.model.trained
    evaluation = trained(run)
    assert digests_of(run, evaluation) == DIGESTS[name]
    moved = [not np.array_equal(a, b) for a, b in zip(before, run.model.trained)]
    kept = [name for name, changed in zip(trained_names(run.spec), moved) if not changed]
    assert kept == [name for name in trained_names(run.spec) if is_frozen(run.spec, name)]

    assert evaluation.confusion is not None
    assert evaluation.confusion.sum() == len(run.dataset.test)
    assert evaluation.spikes_by_step.shape == (len(spiking_layers(run.spec.network)), 20)
    assert np.isfinite(evaluation.metrics.loss)
    activity, traces = measure_activity(run.model, run.dataset)
    assert traces[0].sample == run.dataset.test[0]
    assert all(len(trace.layer_spikes) == len(run.spec.network.layers) for trace in traces)
    if activity.samples == len(run.dataset.test):
        sent = evaluation.spikes_by_step.sum(axis=1) * activity.samples
        np.testing.assert_allclose([spikes.sum() for spikes in activity.spikes], sent)
    told_bytes = memory(run, evaluation.metrics.active_gradient_fractions)
    saved, full = (told_bytes[kind]["bytes"] for kind in ("savedForBackward", "fullHistory"))
    if name == "equations":
        return  # they store their states, whatever carries gradient, and are not exported
    # Of 20 neurons, the three sets of bits are mostly filling: 8 bytes a row each.
    layers = len(spiking_layers(run.spec.network))
    rows = layers * run.spec.data.steps * run.spec.training.batch_size
    assert 0 < saved <= full + 3 * 8 * rows
    if not_written(run.spec) is None:
        write_network(tmp_path / "network.nir", run.spec, run.model.arrays, dropped_spikes=0)


class TestWhatAVariantDoes:
    def gradients(self, changes: Dict[str, Any]) -> List[np.ndarray]:
        run = started(changes)
        samples = run.dataset.training[:20]
        ids, counts = run.dataset.trains.batch(samples)
        learned = run.model.compute_gradients(ids, counts, run.dataset.labels[samples], step=1)
        return [gradient.numpy() for gradient in learned.gradients]

    def test_clipping_bounds_the_gradient(self) -> None:
        free = self.gradients(training())
        by_value = self.gradients(training(gradient_clipping={"value": 1e-4}))
        np.testing.assert_array_equal(by_value[0], np.clip(free[0], -1e-4, 1e-4))
        by_norm = self.gradients(training(gradient_clipping={"global_norm": 1e-3}))
        assert np.sqrt(sum((g**2).sum() for g in by_norm)) == pytest.approx(1e-3, rel=1e-4)

    def test_a_regulariser_pulls_hidden_activity(self) -> None:
        """A strong lower bound makes silent layers spike, a strong upper bound calms them."""

        def spikes(bound: Dict[str, Any], std: float) -> List[float]:
            optimizer = {"kind": "adam", "learning_rate": 0.02}
            changes = training(regularisers=[{**bound, "strength": 100}], optimizer=optimizer)
            changes["network"]["initial_membrane_std"] = std
            changes["training"]["epochs"] = 6
            run = started(changes)
            with recorded_progress(run) as (progress, _):
                run.run(progress, Cancellation(), lambda: None)
            return run.history.epochs("firing_rate/1")

        lower = spikes({"kind": "lower", "spikes": 3}, std=0.4)
        assert lower[-1] > 1.5 * lower[0]
        upper = spikes({"kind": "upper", "spikes": 0.2}, std=1.0)
        assert upper[-1] < 0.75 * upper[0]

    def test_growth_ends_overflow_and_is_reported(self) -> None:
        changes = layer(capacity={"grow": 2}, second_threshold=0.5)
        changes["training"] = {"epochs": 4}
        run = started(changes)
        with recorded_progress(run) as (progress, lines):
            run.run(progress, Cancellation(), lambda: None)
        assert run.history.epochs("overflow/1")[0] > 0
        assert run.history.epochs("overflow/1")[-1] == 0
        assert run.history.epochs("capacity/1")[-1] < 20
        grown = [line for line in lines if "capacity grows from 2 to" in line]
        assert len(grown) == 1
        assert '"level":"warning"' in grown[0]

    def test_a_closed_gate_gives_way(self) -> None:
        """Weights so small that nothing spikes: without help nothing would ever learn."""
        changes = layer(second_threshold=1.0)
        changes["training"] = {"epochs": 3}
        run = started(changes)
        run.model.weights = [0.02 * matrix for matrix in run.model.weights]
        with recorded_progress(run) as (progress, lines):
            run.run(progress, Cancellation(), lambda: None)
        assert run.history.epochs("second_threshold/1")[-1] < 1.0
        assert run.history.epochs("gradient_set/1")[-1] > 0
        assert any("no neuron of layers[0] is above its second threshold" in line for line in lines)


def record() -> None:
    """Replace the recorded digests, after a change that is meant to alter bits."""
    found = {name: started(changes) for name, changes in VARIANTS.items()}
    digests = {name: digests_of(run, trained(run)) for name, run in found.items()}
    lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in digests.items())
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    record()
