"""A network that is exported and imported again is the same network."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from ipulse_core.nir.discretization import Options
from ipulse_core.nir.importer import ImportedNetwork, import_network
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.start_weights import DELAYS, connection_delays, layer_names
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.reference.spikes import dense_to_sparse
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.model.weight_names import weight_names
from ipulse_worker.runner.results.nir_export import nir_exports, write_export, write_network
from ipulse_worker.runner.training.evaluation import evaluate
from tests.worker.runner.conftest import SPEC
from tests.worker.runner.driven_runner import DrivenRunner
from tests.worker.runner.specs import spec_from
from tests.worker.runner.trainings import spec_of, training_of

SEED = 21
STEPS = 25


def random_network(random: np.random.RandomState) -> Dict[str, Any]:
    """Return any network that the exporter takes."""

    def constant(neurons: int, low: float, high: float) -> Any:
        if random.rand() < 0.3:
            return [round(float(value), 3) for value in random.uniform(low, high, neurons)]
        return round(float(random.uniform(low, high)), 3)

    def layer(neurons: int, spikes: bool) -> Dict[str, Any]:
        decay = constant(neurons, 0.0, 0.99)
        if random.rand() < 0.2:  # neurons that integrate and fire, all or some of them
            decay = [*decay[:-1], 1.0] if isinstance(decay, list) else 1.0
        fields: Dict[str, Any] = {
            "decay": decay,
            "gain": round(float(random.uniform(1, 9)), 2),
            "bias": bool(random.rand() < 0.4),
        }
        if random.rand() < 0.4:
            fields["synapse_decay"] = constant(neurons, 0.0, 0.9)
        if spikes:
            fields["threshold"] = constant(neurons, 0.5, 2.0)
            fields["recurrent"] = bool(random.rand() < 0.4)
        return fields

    sizes = [int(size) for size in random.randint(1, 24, random.randint(1, 4))]
    adds = bool(random.rand() < 0.4)  # layers of one width, some with residual additions
    sizes = [sizes[0]] * len(sizes) if adds else sizes
    is_spiking = bool(random.rand() < 0.5)
    kind = "spiking" if is_spiking else "leaky"
    found = [{"neurons": size, **layer(size, True)} for size in sizes]
    found.append({"kind": kind, **layer(10, is_spiking)})
    for index in range(2, len(found)) if adds else ():
        numbers = [n for n in range(1, index) if random.rand() < 0.5]
        found[index]["residual"] = numbers
    for fields in [] if adds else found:
        if random.rand() < 0.3:
            fields["delay"] = int(random.randint(4))
        elif random.rand() < 0.4:
            per = str(random.choice(["neuron", "synapse"]))
            fields["delays"] = {"per": per, "longest": int(random.randint(1, 9))}
            fields["delays"].update({"rounded": True} if per == "neuron" else {})
    return {
        "layers": found[:-1],
        "readout": found[-1],
        "reset": str(random.choice(["zero", "subtract", "none"])),
        "delay": int(random.randint(3)),
    }


def spec_with(network: Dict[str, Any], **more: Any) -> Any:
    is_spiking = network.get("readout", {}).get("kind") == "spiking"
    return spec_of(
        network=network,
        training={"loss": "spike_count_mse" if is_spiking else "mean_membrane_cross_entropy"},
        data={"samples": 50, "steps": STEPS},
        **more,
    )


def spikes_of(spec: Any, arrays: Dict[str, np.ndarray], inputs: np.ndarray) -> List[np.ndarray]:
    ours = network_of(spec)
    weights = [arrays[name] for name in weight_names(spec)]
    trace = reference.forward(ours, weights, *dense_to_sparse(inputs))
    return [*(layer.spike_counts for layer in trace.layers), trace.membrane]


def drawn(spec: Any, random: np.random.RandomState) -> Dict[str, np.ndarray]:
    shapes = weight_shapes(network_of(spec))
    weights = [(random.randn(*shape.shape) / 3).astype(np.float32) for shape in shapes]
    arrays = dict(zip(weight_names(spec), weights))
    for name, delays in connection_delays(spec.network).items():
        arrays[name] = random.randint(delays.longest + 1, size=arrays[name].shape).astype("f4")
    return arrays


def delays_in(spec: Any, arrays: Dict[str, np.ndarray]) -> List[np.ndarray]:
    """Return the steps that spikes take at each synapse of each layer."""
    found = []
    for name, delay in zip(layer_names(spec.network), input_delays(spec.network)):
        own = arrays.get(f"{name}{DELAYS}", np.full((1, 1), delay))
        own = own[:, np.newaxis] if own.ndim == 1 else own
        found.append(np.broadcast_to(own, arrays[name].shape))
    return found


def spec_again(found: ImportedNetwork, spec: Any) -> Any:
    assert (found.inputs, found.classes) == (64, 10)
    assert found.step_ms == spec.data.step_ms
    return spec_with(found.network)


@pytest.mark.old_python
@pytest.mark.parametrize("number", range(25))
@pytest.mark.sample(10)
def test_of_any_network_gives_the_same_network(number: int, tmp_path: Path) -> None:
    random = np.random.RandomState(SEED + number)
    network = random_network(random)
    spec = spec_with(network)
    arrays = drawn(spec, random)
    write_network(tmp_path / "a.nir", spec, arrays, dropped_spikes=0)
    found = import_network(tmp_path / "a.nir", Options())
    again = spec_again(found, spec)
    place = f"seed {SEED + number}: {network}"
    for before, after in zip(
        [*spec.network.layers, spec.network.readout], [*again.network.layers, again.network.readout]
    ):
        for field in ("decay", "synapse_decay", "threshold", "recurrent", "bias"):
            if hasattr(before, field):
                assert np.all(np.equal(getattr(after, field), getattr(before, field))), (
                    f"{field}, {place}"
                )
        assert after.gain == 1.0, place
    assert again.network.reset == spec.network.reset
    for one, other in zip(delays_in(spec, arrays), delays_in(again, found.weights)):
        np.testing.assert_array_equal(one, other, err_msg=place)
    inputs = (random.rand(STEPS, 4, 64) < 0.1).astype(np.float32)
    *spikes, membrane = spikes_of(spec, arrays, inputs)
    *spikes_again, membrane_again = spikes_of(again, found.weights, inputs)
    for one, other in zip(spikes, spikes_again):
        np.testing.assert_array_equal(one, other, err_msg=place)
    np.testing.assert_allclose(membrane_again, membrane, rtol=1e-4, atol=1e-4)
    # The second time nothing is rounded any more.
    write_network(tmp_path / "b.nir", again, found.weights, dropped_spikes=0)
    twice = import_network(tmp_path / "b.nir", Options())
    assert twice.network == found.network
    for name, array in found.weights.items():
        np.testing.assert_array_equal(twice.weights[name], array)


@pytest.mark.parametrize("target", ["norse", "snntorch", "spikingjelly", "sinabs"])
def test_of_the_files_for_simulators_gives_the_same_spikes(target: str, tmp_path: Path) -> None:
    network = {
        "layers": [{"neurons": 20, "synapse_decay": 0.5, "bias": True}],
        "reset": "subtract" if target == "sinabs" else "zero",
    }
    spec = spec_with(network, export={"nir": [{"target": target}]})
    random = np.random.RandomState(SEED)
    arrays = drawn(spec, random)
    [export] = nir_exports(spec, arrays, dropped_spikes=0)
    write_export(tmp_path / "a.nir", spec, arrays, export, dropped_spikes=0)
    found = import_network(tmp_path / "a.nir", Options())
    again = spec_with(found.network)
    assert again.network.readout.kind == "leaky"
    inputs = (random.rand(STEPS, 4, 64) < 0.1).astype(np.float32)
    for one, other in zip(spikes_of(spec, arrays, inputs), spikes_of(again, found.weights, inputs)):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4, err_msg=f"seed {SEED}")


@pytest.mark.sample(0)
def test_of_a_trained_network_has_its_accuracy_to_the_last_digit(
    finished_dir: Path, finished: DrivenRunner, tmp_path: Path
) -> None:
    layers = [{"neurons": 32}, {"neurons": 24}]
    spec = spec_from({**SPEC, "network": {"layers": layers}})
    with np.load(finished_dir / "weights.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    found = import_network(finished_dir / "network.nir", Options())
    again = spec_from({**SPEC, "network": found.network})
    results = []
    for one, weights in ((spec, arrays), (again, found.weights)):
        training = training_of(one)
        training.model.assign(weights)
        results.append(evaluate(training.model, training.dataset, one))
    assert results[0].metrics.score == results[1].metrics.score
    np.testing.assert_array_equal(results[0].confusion, results[1].confusion)
    assert results[0].metrics.score > 0.2
