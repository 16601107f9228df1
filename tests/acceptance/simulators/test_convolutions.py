"""Exported convolutions spike in the simulators of others as they do here, neuron by neuron."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_core.spec.start_weights import start_shapes
from ipulse_ops.reference.spikes import dense_to_sparse, sparse_to_dense
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.results.nir_export import nir_exports, write_export
from tests.worker.runner.nir.convolutions import (
    NETWORKS,
    as_planes,
    drawn,
    inputs_of,
    run,
    spec_for,
)
from tests.worker.runner.trainings import spec_of

from .environment import Simulators

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1800)]

SEED = 31
RECURRENT = ("norse", "spikingjelly")
STEPS, SAMPLES, CHANNELS = 14, 4, 32
# Convolutions that receive their own spikes, and the shape of their input.
_LOOP = {"kind": "conv2d", "filters": 3, "kernel_size": 3, "padding": "same", "recurrent": True}
LOOPS = {
    "same": ([2, 4, 4], _LOOP),
    "pool": ([2, 4, 4], {**_LOOP, "bias": True, "pool": {}}),
    "even": ([2, 4, 4], {**_LOOP, "kernel_size": [2, 4], "bias": True}),
    "valid": ([2, 4, 4], {**_LOOP, "padding": "valid"}),
    "flat": ([2, 1, 16], {**_LOOP, "kind": "conv1d", "kernel_size": 4, "padding": 0}),
}


@pytest.mark.parametrize("target", ["norse", "snntorch", "spikingjelly", "sinabs"])
@pytest.mark.parametrize("name", list(NETWORKS))
def test_every_spike_is_equal(
    simulators: Simulators, target: str, name: str, tmp_path: Path
) -> None:
    if name == "recurrent" and target not in RECURRENT:
        pytest.skip("the target runs no recurrent layers")
    random = np.random.RandomState(SEED)
    spec = spec_for(name, target)
    # Sinabs spikes twice where a membrane is above twice its threshold.
    arrays = drawn(spec, random, scale=0.3 if target == "sinabs" else 1.0)
    inputs = inputs_of(spec, random)
    [export] = nir_exports(spec, arrays, dropped_spikes=0)
    graph, planes, outputs = (tmp_path / name for name in ("a.nir", "in.npy", "out.npz"))
    write_export(graph, spec, arrays, export, dropped_spikes=0)
    np.save(planes, as_planes(spec, inputs))
    step_s = spec.data.step_ms / 1000
    simulators.simulate(target, graph, planes, outputs, step_s, spec.network.reset)
    spikes, readout = run(spec, arrays, inputs)
    with np.load(outputs, allow_pickle=False) as theirs:
        assert spikes[0].sum() > 20
        for number, expected in enumerate(spikes, start=1):
            node = f"lif_{number}" if f"lif_{number}" in theirs else "readout"
            _assert_equal(theirs[node], expected, node)
        if spec.network.readout.kind == "leaky":
            actual = theirs["membrane"].reshape(readout.shape)
            np.testing.assert_allclose(actual, readout, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", RECURRENT)
@pytest.mark.parametrize("name", list(LOOPS))
def test_recurrent_convolutions_spike_alike(
    simulators: Simulators, target: str, name: str, tmp_path: Path
) -> None:
    random = np.random.RandomState(SEED)
    shape, layer = LOOPS[name]
    data = {"kind": "npz", "name": "a", "channels": CHANNELS, "shape": shape}
    spec = spec_of(
        data={**data, "steps": STEPS, "classes": 4},
        network={"layers": [layer, {"neurons": 6}]},
        export={"nir": [{"target": target}]},
    )
    arrays = {
        key: random.normal(0.1, 0.6, size).astype(np.float32)
        for key, size in start_shapes(spec).items()
    }
    inputs = (random.rand(STEPS, SAMPLES, CHANNELS) < 0.2).astype(np.float32)
    [export] = nir_exports(spec, arrays, dropped_spikes=0)
    graph, planes, outputs = (tmp_path / name for name in ("a.nir", "in.npy", "out.npz"))
    write_export(graph, spec, arrays, export, dropped_spikes=0)
    np.save(planes, as_planes(spec, inputs))
    simulators.simulate(target, graph, planes, outputs, spec.data.step_ms / 1000, "zero")
    model = Model(spec, CHANNELS, 1)
    model.assign(arrays)
    ids, counts = dense_to_sparse(inputs)
    slots = np.zeros((STEPS, SAMPLES, CHANNELS), np.uint16)
    slots[..., : ids.shape[2]] = ids
    out = model.forward(slots, counts.astype(np.int32))
    with np.load(outputs, allow_pickle=False) as theirs:
        for number, (ids, counts) in enumerate(zip(out.spike_ids, out.spike_counts), start=1):
            actual = theirs[f"lif_{number}"]
            filters, neurons = actual.shape[2], actual[0, 0].size
            expected = sparse_to_dense(
                ids.astype(np.int32), counts[..., 0].astype(np.int32), neurons
            )
            assert expected.sum() > 5
            sites = expected.reshape(STEPS, SAMPLES, -1, filters)  # ours have filters innermost
            _assert_equal(actual, np.moveaxis(sites, -1, 2), f"lif_{number}")
        np.testing.assert_allclose(
            theirs["membrane"].reshape(out.membrane.shape), out.membrane, rtol=1e-4, atol=1e-4
        )


def _assert_equal(actual: Any, expected: Any, node: str) -> None:
    place = f"{node}, seed {SEED}"
    np.testing.assert_array_equal(actual.reshape(expected.shape), expected, err_msg=place)
