"""Networks that simulators of others wrote as NIR spike here as they do there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_core.nir.discretization import Options
from ipulse_core.nir.importer import import_network
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.reference.spikes import dense_to_sparse, sparse_to_dense
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.model.weight_names import weight_names
from tests.worker.runner.trainings import spec_of

from .environment import Simulators

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1800)]

# What each simulator wrote, and what a user must say about it.
OPTIONS: dict[str, dict[str, Any]] = {
    "norse,LIFBoxCell": {"step_s": 1e-3},
    "norse,LIFCell": {"step_s": 1e-3},
    "snntorch,Leaky,zero,now": {"reset": "zero"},
    "snntorch,Leaky+Synaptic,zero,now": {"reset": "zero"},
    "snntorch,Leaky,subtract,later": {"reset": "later-subtract"},
    "snntorch,Leaky,zero,later": {"reset": "later-zero"},
    "snntorch,RLeaky,subtract,later": {"reset": "later-subtract"},
    "snntorch,RLeaky,zero,now": {"reset": "zero"},
    "snntorch,RSynaptic,none,later": {"reset": "none"},
    "spikingjelly": {"step_s": 1e-3},
    "sinabs,norm_input": {"solver": "exact"},
    "sinabs,plain": {"solver": "unscaled"},
    "sinabs,IAF": {},
}


@pytest.mark.parametrize("written_by", OPTIONS)
def test_every_spike_is_equal(simulators: Simulators, written_by: str, tmp_path: Path) -> None:
    graph, outputs = tmp_path / "a.nir", tmp_path / "out.npz"
    simulators.write(written_by, graph, outputs)
    writer = written_by.partition(",")[0]
    found = import_network(graph, Options(writer=writer, **OPTIONS[written_by]))
    with np.load(outputs, allow_pickle=False) as theirs:
        inputs, expected = theirs["inputs"], [theirs["hidden"], theirs["readout"]]
    spec = spec_of(
        network=found.network,
        data={
            "kind": "poisson",
            "channels": found.inputs,
            "classes": found.classes,
            "steps": len(inputs),
            "samples_per_class": 5,
        },
        training={"loss": "spike_count_mse"},
    )
    weights = [found.weights[name] for name in weight_names(spec)]
    trace = reference.forward(network_of(spec), weights, *dense_to_sparse(inputs))
    for layer, spikes in zip(trace.layers, expected, strict=True):
        counts = layer.spike_counts[..., 0]
        assert spikes.sum() > 200
        assert spikes.max() == 1
        np.testing.assert_array_equal(
            sparse_to_dense(layer.spike_ids, counts, layer.u.shape[2]), spikes
        )
