"""Exported convolutions that are imported again spike as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_core.nir.discretization import Options
from ipulse_core.nir.importer import import_network
from ipulse_core.spec.derived_values import input_delays
from ipulse_worker.runner.results.nir_export import nir_exports, write_export
from tests.worker.runner.nir.convolutions import (
    DELAYED,
    NETWORKS,
    as_planes,
    drawn,
    inputs_of,
    run,
    spec_for,
)
from tests.worker.runner.trainings import spec_of

SEED = 31
# The kinds of the imported layers.
IMPORTED = {
    "pools": ["conv2d", "conv2d", "dense"],
    "groups": ["conv2d", "conv2d"],
    "flat": ["conv2d", "dense", "dense"],
    "of layers": ["conv2d", "conv2d", "dense"],
    "of synapses": ["conv2d", "dense"],
    "of senders": ["conv2d"],
}


@pytest.mark.parametrize("target", ["generic", "norse", "snntorch", "spikingjelly", "sinabs"])
@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "recurrent"])
def test_an_imported_export_spikes_as_before(target: str, name: str, tmp_path: Path) -> None:
    _check_round_trip(target, name, tmp_path)


@pytest.mark.parametrize("name", DELAYED)
def test_spikes_take_as_long_as_before(name: str, tmp_path: Path) -> None:
    again = _check_round_trip("generic", name, tmp_path)
    assert input_delays(again.network) == input_delays(spec_for(name, "generic").network)


def _check_round_trip(target: str, name: str, tmp_path: Path) -> Any:
    """Compare all spikes before and after a round trip; return the imported spec."""
    random = np.random.RandomState(SEED)
    spec = spec_for(name, target)
    arrays = drawn(spec, random)
    [export] = nir_exports(spec, arrays, dropped_spikes=0)
    assert not export.left_out
    write_export(tmp_path / "a.nir", spec, arrays, export, dropped_spikes=0)
    found = import_network(tmp_path / "a.nir", Options())
    inputs = inputs_of(spec, random)
    planes = as_planes(spec, inputs)
    assert list(found.input_shape) == list(planes.shape[2:])
    kinds = [layer.get("kind", "dense") for layer in found.network["layers"]]
    assert kinds == IMPORTED[name]
    again = spec_of(
        data={
            "kind": "npz",
            "name": "again",
            "channels": inputs.shape[2],
            "classes": found.classes,
            "steps": len(inputs),
            **({"shape": list(found.input_shape)} if "conv2d" in kinds else {}),
        },
        network=found.network,
        training={"loss": spec.training.loss},
    )
    theirs, their_readout = run(again, found.weights, planes.reshape(inputs.shape))
    spikes, readout = run(spec, arrays, inputs)
    for number, (ours, same) in enumerate(zip(spikes, theirs), start=1):
        assert ours.sum() > 20
        place = f"layer {number}, seed {SEED}"
        np.testing.assert_array_equal(same, ours, err_msg=place)
    np.testing.assert_allclose(their_readout, readout, rtol=1e-4, atol=1e-4)
    return again
