"""Every field of network, training and device does what it says: a short training of each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List

import numpy as np
import pytest

from ipulse_core.spec.derived_values import spiking_layers
from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.model.weight_names import is_frozen, trained_names
from ipulse_worker.runner.profile.memory import memory
from ipulse_worker.runner.results.neuron_activity import measure_activity
from ipulse_worker.runner.results.nir_export import not_written, write_network
from ipulse_worker.runner.training.evaluation import evaluate
from ipulse_worker.runner.training.loop import Training

from .trainings import recorded_progress, spec_of, training_of

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

HIDDEN = {"neurons": 20}
SPIKING = {"kind": "spiking"}
COUNTS = {"loss": "spike_count_cross_entropy"}
INT4 = {"bits": 4, "scale": "layer", "power_of_two": True}
PER_NEURON = [0.9 + 0.004 * n for n in range(20)]


def network(**changes: Any) -> Dict[str, Any]:
    return {"network": {"layers": [HIDDEN], **changes}}


def layer(**changes: Any) -> Dict[str, Any]:
    return {"network": {"layers": [{**HIDDEN, **changes}, {"neurons": 12}]}}


def training(**changes: Any) -> Dict[str, Any]:
    return {**network(), "training": changes}


def spiking(loss: str, **readout: Any) -> Dict[str, Any]:
    return {**network(readout={**SPIKING, **readout}), "training": {"loss": loss}}


VARIANTS: Dict[str, Dict[str, Any]] = {
    "reset subtract": network(reset="subtract"),
    "reset none": network(reset="none"),
    "reset gradient term": network(reset_gradient="term"),
    "reset gradient none": network(reset_gradient="none"),
    "delay": network(delay=1),
    "delays of layers": network(layers=[{**HIDDEN, "delay": 3}, {"neurons": 12}], delay=2),
    "reset on emission": {
        "network": {"layers": [{**HIDDEN, "capacity": 3}], "reset_on": "emission"}
    },
    "recurrent": layer(recurrent=True),
    "bias": layer(bias=True),
    "bias of the readout": network(readout={"bias": True}),
    "integrate and fire": network(
        layers=[{**HIDDEN, "decay": 1.0, "gain": 1.0}], readout={"decay": 1.0, "gain": 0.1}
    ),
    "synapse": layer(synapse_decay=0.8),
    "adaptive thresholds": layer(
        adaptation={"strength": PER_NEURON, "decay": 0.9}, recurrent=True, second_threshold=0.5
    ),
    "synapse of the readout": network(readout={"synapse_decay": [0.1 * n for n in range(10)]}),
    "constants of each neuron": layer(decay=PER_NEURON, threshold=PER_NEURON),
    "gates of each neuron": layer(second_threshold=[0.01 * n for n in range(20)]),
    "dropout": network(
        layers=[{**HIDDEN, "dropout": 0.1}, {"neurons": 12, "dropout": 0.5}],
        readout={"dropout": 0.2},
    ),
    "residual additions": network(
        layers=[HIDDEN, HIDDEN, {"neurons": 20, "residual": [1]}],
        readout={"residual": [2, 1]},
        delay=1,
    ),
    "delays of synapses": network(
        layers=[{**HIDDEN, "delays": {"longest": 3}}, {"neurons": 12, "recurrent": True}],
        readout={"delays": {"longest": 2}},
    ),
    "trained delays": network(
        layers=[{**HIDDEN, "delays": {"per": "neuron", "longest": 3, "rounded": True}}],
        readout={"delays": {"per": "neuron", "longest": 2}, "quantisation": {"bits": 8}},
    ),
    "standardised weights": network(
        layers=[{**HIDDEN, "standardised": True, "bias": True}],
        readout={"standardised": True, "quantisation": {"bits": 8}},
    ),
    "dropout before a spiking readout": spiking("spike_count_mse", dropout=0.3, bias=True),
    "policy cyclic": layer(capacity=4, policy="cyclic"),
    "policy top": layer(capacity=4, policy="top"),
    "growing capacity": layer(capacity={"grow": 2, "most": 15}, second_threshold=0.5),
    "arctan": network(surrogate={"name": "arctan", "slope": 5}),
    "boxcar": network(surrogate={"name": "boxcar", "half_width": 0.5}),
    "exponential": network(surrogate={"name": "exponential"}),
    "table": network(surrogate={"name": "table", "values": [0, 1, 0.5, 0], "width": 1}),
    "trainable": {
        "network": {
            "layers": [{**HIDDEN, "synapse_decay": 0.5}],
            "trainable": ["threshold", "decay", "synapse_decay"],
        }
    },
    "trainable adaptation": {
        "network": {
            "layers": [{**HIDDEN, "adaptation": {"strength": 0.3, "detach": True}}],
            "trainable": ["adaptation_strength", "adaptation_decay"],
        }
    },
    "truncated": training(truncate_steps=6),
    "max of the membrane": training(loss="max_membrane_cross_entropy"),
    "each step": training(loss="step_cross_entropy"),
    "spike counts": spiking("spike_count_cross_entropy"),
    "squares of spike counts": {
        **network(readout=SPIKING),
        "training": {"loss": "spike_count_mse", "spike_targets": {"right": 6, "wrong": 1}},
    },
    "spiking recurrent readout": spiking("spike_count_mse", recurrent=True, bias=True),
    "lower bound": training(regularisers=[{"kind": "lower", "spikes": 2}]),
    "upper bound": training(regularisers=[{"kind": "upper", "spikes": 0.1, "power": 1}]),
    "sgd": training(optimizer={"kind": "sgd", "momentum": 0.5, "nesterov": True}),
    "adamw": training(optimizer={"kind": "adamw", "weight_decay": 0.1}),
    "clipped": training(gradient_clipping={"value": 0.01, "global_norm": 0.1}),
    "cosine": training(schedule={"shape": "cosine", "warmup_steps": 2}),
    "early stopping": training(early_stopping={"patience": 1}),
    "bfloat16": {**network(), "device": {"weights_dtype": "bfloat16"}},
    "int8": layer(quantisation={}),
    "int4 by layer": network(
        layers=[{**HIDDEN, "recurrent": True, "bias": True, "quantisation": INT4}],
        readout={"quantisation": INT4},
    ),
    "recompute": {**network(), "device": {"memory": "recompute"}},
}


CASES = [pytest.param(changes, id=name) for name, changes in VARIANTS.items()]


def spec_with(changes: Dict[str, Any]) -> ExperimentSpec:
    short = {"epochs": 2, "batch_size": 48, **changes.get("training", {})}
    return spec_of(**{**changes, "training": short, "data": {"samples": 120, "steps": 20}})


def started(changes: Dict[str, Any]) -> Training:
    return training_of(spec_with(changes))


@pytest.mark.parametrize("changes", CASES)
def test_a_variant_is_trained_evaluated_and_exported(
    changes: Dict[str, Any], tmp_path: Path
) -> None:
    run = started(changes)
    before = run.model.trained
    with recorded_progress(run) as (progress, _):
        run.run(progress, Cancellation(), lambda: None)
    moved = [not np.array_equal(a, b) for a, b in zip(before, run.model.trained)]
    kept = [name for name, changed in zip(trained_names(run.spec), moved) if not changed]
    assert kept == [name for name in trained_names(run.spec) if is_frozen(run.spec, name)]

    evaluation = evaluate(run.model, run.dataset, run.spec)
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
        assert any("no neuron of layer 1 is above its second threshold" in line for line in lines)
