"""Exported networks spike in the simulators of others as they do here, neuron by neuron."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.reference.spikes import dense_to_sparse, sparse_to_dense
from ipulse_worker.runner.model.network import network_of, weight_names
from ipulse_worker.runner.results.nir_export import nir_exports, write_export
from tests.worker.runner.trainings import spec_of

from .environment import Simulators

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1800)]

SEED = 5
STEPS, SAMPLES = 100, 64
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
}
RECURRENT: dict[str, Any] = {
    "layers": [{"neurons": 40, "recurrent": True}],
    "readout": {"kind": "spiking", "recurrent": True},
}

SUBTRACT: dict[str, Any] = {
    "layers": [{"neurons": 40}],
    "reset": "subtract",
    "readout": {"kind": "spiking"},
}


@pytest.fixture(scope="module")
def simulators() -> Simulators:
    found = Simulators()
    found.install()
    return found


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
        weights = [random.randn(*s.shape).astype(np.float32) / 3 for s in weight_shapes(ours)]
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
        self.pairs = []
        with np.load(outputs, allow_pickle=False) as theirs:
            for name, layer in zip([*names, "readout"], trace.layers, strict=False):
                counts = layer.spike_counts[..., 0]
                expected = sparse_to_dense(layer.spike_ids, counts, layer.u.shape[2])
                self.pairs.append((theirs[name], expected))
            if not has_spikes:
                assert not theirs["readout"].any()
                np.testing.assert_allclose(theirs["membrane"], trace.membrane, atol=1e-4)

    def assert_equal(self) -> None:
        for actual, expected in self.pairs:
            assert expected.sum() > 200
            np.testing.assert_array_equal(actual, expected, err_msg=f"seed {SEED}")


@pytest.mark.parametrize("target", ["norse", "snntorch"])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_spike_is_equal(
    simulators: Simulators, name: str, target: str, tmp_path: Path
) -> None:
    compared = Comparison(simulators, NETWORKS[name], target, tmp_path)
    assert not compared.left_out
    compared.assert_equal()


@pytest.mark.parametrize(
    "network",
    [RECURRENT, SUBTRACT, {**RECURRENT, "reset": "subtract"}, {**SUBTRACT, "readout": {}}],
    ids=["recurrent", "subtract", "both", "subtract-leaky"],
)
def test_norse_runs_recurrence_and_resets_by_subtraction(
    simulators: Simulators, network: dict[str, Any], tmp_path: Path
) -> None:
    compared = Comparison(simulators, network, "norse", tmp_path)
    assert not compared.left_out
    compared.assert_equal()


@pytest.mark.parametrize(
    ("target", "network"),
    [("snntorch", RECURRENT), ("snntorch", SUBTRACT), ("norse", {**SUBTRACT, "reset": "none"})],
    ids=["recurrent-snntorch", "subtract-snntorch", "none-norse"],
)
def test_what_is_refused_spikes_differently(
    simulators: Simulators, network: dict[str, Any], target: str, tmp_path: Path
) -> None:
    compared = Comparison(simulators, network, target, tmp_path)
    assert compared.left_out
    assert any((actual != expected).any() for actual, expected in compared.pairs)
