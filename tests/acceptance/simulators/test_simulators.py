"""Exported networks spike in the simulators of others as they do here, neuron by neuron."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.reference.spikes import dense_to_sparse, sparse_to_dense
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.model.weight_names import weight_names
from ipulse_worker.runner.results.nir_export import nir_exports, write_export
from tests.worker.runner.trainings import spec_of

from .environment import Simulators

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1800)]

SEED = 5
STEPS, SAMPLES = 100, 64
LONGEST = 5  # steps, of the delays of connections
NETWORKS: dict[str, dict[str, Any]] = {
    "dense": {"layers": [{"neurons": 40, "capacity": 40}, {"neurons": 30, "gain": 7.3}]},
    "constants": {
        "layers": [{"neurons": 30, "decay": [0.8] * 29 + [0.0], "threshold": [1.0, 0.7] * 15}]
    },
    "bias": {"layers": [{"neurons": 40, "bias": True}], "readout": {"bias": True, "gain": 0.7}},
    "synapse": {
        "layers": [{"neurons": 40, "synapse_decay": 0.7, "decay": [0.8] * 39 + [0.0]}],
        "readout": {"synapse_decay": 0.5},
    },
    "spiking": {"layers": [{"neurons": 40}], "readout": {"kind": "spiking", "synapse_decay": 0.2}},
    # One decay for a layer; thresholds go into the weights.
    "thresholds": {
        "layers": [{"neurons": 40, "threshold": [1.0, 0.9] * 20, "decay": 0.0, "gain": 1.3}]
    },
    "one synapse": {
        "layers": [{"neurons": 40, "synapse_decay": 0.7, "decay": 0.8}],
        "readout": {"synapse_decay": 0.5, "bias": True},
    },
    "recurrent": {
        "layers": [{"neurons": 40, "recurrent": True}],
        "readout": {"kind": "spiking", "recurrent": True},
    },
    "subtract": {
        "layers": [{"neurons": 40, "threshold": [1.0, 0.9] * 20}],
        "readout": {"kind": "spiking", "gain": 60.0},
    },
    # Membranes stay below twice the threshold with the weights for Sinabs.
    "small": {"layers": [{"neurons": 40}, {"neurons": 30, "gain": 45.0}]},
    # Neurons that integrate and fire, before integrators.
    "no decay": {
        "layers": [{"neurons": 40, "decay": 1.0, "gain": 0.3}],
        "readout": {"decay": 1.0, "gain": 0.1},
    },
    "delays of synapses": {"layers": [{"neurons": 40, "delays": {"longest": LONGEST}}]},
    "delays of neurons": {
        "layers": [
            {"neurons": 40, "delays": {"per": "neuron", "longest": LONGEST, "rounded": True}}
        ]
    },
    # The only readout of Rockpool spikes.
    "spiking thresholds": {
        "layers": [{"neurons": 40, "threshold": [1.0, 0.9] * 20, "decay": 0.0, "gain": 1.3}],
        "readout": {"kind": "spiking", "gain": 60.0},
    },
    "delay": {"layers": [{"neurons": 40}, {"neurons": 30, "gain": 45.0}], "delay": 1},
}
# The reset of each target, and the networks that it runs with the same spikes.
RUNS = {
    "norse": (
        "zero",
        ["dense", "constants", "bias", "synapse", "spiking", "thresholds", "recurrent", "no decay"],
    ),
    "norse, subtract": ("subtract", ["recurrent", "subtract", "bias", "synapse"]),
    "snntorch": (
        "zero",
        ["dense", "constants", "bias", "synapse", "spiking", "thresholds", "no decay"],
    ),
    "spikingjelly": (
        "zero",
        ["dense", "thresholds", "bias", "one synapse", "spiking", "recurrent", "no decay"],
    ),
    "sinabs": ("subtract", ["small", "thresholds", "bias", "one synapse", "subtract", "no decay"]),
    "rockpool": ("subtract", ["spiking thresholds"]),
}
REFUSED = [
    ("norse", "dense", "none"),
    ("norse", "delay", "zero"),
    ("norse", "delays of neurons", "zero"),
    ("norse", "delays of synapses", "zero"),
    ("snntorch", "recurrent", "zero"),
    ("snntorch", "subtract", "subtract"),
    ("snntorch", "delay", "zero"),
    ("snntorch", "delays of neurons", "zero"),
    ("spikingjelly", "subtract", "subtract"),
    ("spikingjelly", "delay", "zero"),
    ("spikingjelly", "delays of neurons", "zero"),
    ("sinabs", "dense", "zero"),
    ("sinabs", "recurrent", "subtract"),
    ("sinabs", "delay", "subtract"),
    ("sinabs", "delays of synapses", "subtract"),
]


class Comparison:
    """One network, run here and by a simulator."""

    def __init__(
        self, simulators: Simulators, network: dict[str, Any], target: str, folder: Path
    ) -> None:
        has_spikes = network.get("readout", {}).get("kind") == "spiking"
        spec = spec_of(
            network=network,
            training={"loss": "spike_count_mse" if has_spikes else "mean_membrane_cross_entropy"},
            data={"samples": 50, "steps": STEPS, "step_ms": 2.0},
            export={"nir": [{"target": target, "on_loss": "warn"}]},
        )
        ours = network_of(spec)
        random = np.random.RandomState(SEED)
        # Sinabs spikes twice where a membrane is above twice its threshold.
        scale = 0.1 if target in ("sinabs", "rockpool") else 0.33
        weights = [(random.randn(*s.shape) * scale).astype(np.float32) for s in weight_shapes(ours)]
        for array, shape in zip(weights, weight_shapes(ours), strict=True):
            if shape.role == "delays":
                array[...] = random.randint(LONGEST + 1, size=array.shape)
        arrays = dict(zip(weight_names(spec), weights, strict=True))
        [export] = nir_exports(spec, arrays, dropped_spikes=0)
        self.left_out = export.left_out
        graph, inputs, outputs = (folder / name for name in ("a.nir", "in.npy", "out.npz"))
        write_export(graph, spec, arrays, export, 0)
        spikes = (random.rand(STEPS, SAMPLES, ours.inputs) < 0.1).astype(np.float32)
        np.save(inputs, spikes)
        simulators.simulate(target, graph, inputs, outputs, 0.002, ours.reset)
        trace = reference.forward(ours, weights, *dense_to_sparse(spikes))
        names = [f"lif_{number}" for number in range(1, len(ours.layers) + 1)]
        self.most = max(layer.u.max() for layer in trace.layers)
        self.pairs = []
        with np.load(outputs, allow_pickle=False) as theirs:
            self.membranes = None if has_spikes else (theirs["membrane"], trace.membrane)
            for name, layer in zip([*names, "readout"], trace.layers, strict=False):
                counts = layer.spike_counts[..., 0]
                expected = sparse_to_dense(layer.spike_ids, counts, layer.u.shape[2])
                self.pairs.append((theirs[name], expected))
            if not has_spikes and target != "sinabs":
                assert not theirs["readout"].any()

    def assert_equal(self) -> None:
        for actual, expected in self.pairs:
            assert expected.sum() > 100
            np.testing.assert_array_equal(actual, expected, err_msg=f"seed {SEED}")
        if self.membranes is not None:
            np.testing.assert_allclose(*self.membranes, atol=1e-4)


@pytest.mark.parametrize(
    ("target", "reset", "name"),
    [
        (target.split(",")[0], reset, name)
        for target, (reset, names) in RUNS.items()
        for name in names
    ],
)
def test_every_spike_is_equal(
    simulators: Simulators, target: str, reset: str, name: str, tmp_path: Path
) -> None:
    compared = Comparison(simulators, {**NETWORKS[name], "reset": reset}, target, tmp_path)
    assert not compared.left_out
    compared.assert_equal()


@pytest.mark.parametrize(("target", "name", "reset"), REFUSED)
def test_what_is_refused_spikes_differently(
    simulators: Simulators, target: str, name: str, reset: str, tmp_path: Path
) -> None:
    compared = Comparison(simulators, {**NETWORKS[name], "reset": reset}, target, tmp_path)
    assert compared.left_out
    assert any((actual != expected).any() for actual, expected in compared.pairs)


def test_sinabs_spikes_twice_above_twice_the_threshold(
    simulators: Simulators, tmp_path: Path
) -> None:
    """The job therefore counts these membranes of held-out samples and refuses the file."""
    network = {"layers": [{"neurons": 40, "gain": 100.0}], "reset": "subtract"}
    compared = Comparison(simulators, network, "sinabs", tmp_path)
    assert compared.most > 2
    assert any((actual > 1).any() for actual, _ in compared.pairs)
