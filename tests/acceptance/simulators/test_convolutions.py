"""Exported convolutions spike in the simulators of others as they do here, neuron by neuron."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_worker.runner.results.nir_export import nir_exports, write_export
from tests.worker.runner.nir.convolutions import (
    NETWORKS,
    as_planes,
    drawn,
    inputs_of,
    run,
    spec_for,
)

from .environment import Simulators

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1800)]

SEED = 31
RECURRENT = ("norse", "spikingjelly")


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


def _assert_equal(actual: Any, expected: Any, node: str) -> None:
    place = f"{node}, seed {SEED}"
    np.testing.assert_array_equal(actual.reshape(expected.shape), expected, err_msg=place)
