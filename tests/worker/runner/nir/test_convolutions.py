"""Exported convolutions, imported again as matrices, spike as before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ipulse_worker.nir.discretization import Options
from ipulse_worker.nir.importer import import_network
from ipulse_worker.runner.results.nir_export import nir_exports, write_export
from tests.worker.runner.nir.convolutions import (
    NETWORKS,
    as_planes,
    drawn,
    inputs_of,
    run,
    spec_for,
)
from tests.worker.runner.nir.test_round_trip import spikes_of
from tests.worker.runner.trainings import spec_of

SEED = 31


@pytest.mark.parametrize("target", ["generic", "norse", "snntorch", "spikingjelly", "sinabs"])
@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "recurrent"])
def test_an_imported_export_spikes_as_before(target: str, name: str, tmp_path: Path) -> None:
    random = np.random.RandomState(SEED)
    spec = spec_for(name, target)
    arrays = drawn(spec, random)
    [export] = nir_exports(spec, arrays, dropped_spikes=0)
    assert not export.left_out
    write_export(tmp_path / "a.nir", spec, arrays, export, dropped_spikes=0)
    found = import_network(tmp_path / "a.nir", Options())
    inputs = inputs_of(spec, random)
    again = spec_of(
        data={
            "kind": "npz",
            "name": "again",
            "channels": inputs.shape[2],
            "classes": found.classes,
            "steps": len(inputs),
        },
        network=found.network,
        training={"loss": spec.training.loss},
    )
    planes = as_planes(spec, inputs)
    theirs = spikes_of(again, found.weights, planes.reshape(inputs.shape))
    spikes, readout = run(spec, arrays, inputs)
    for number, (layer, counts) in enumerate(zip(spikes, theirs), start=1):
        assert layer.sum() > 20
        place = f"layer {number}, seed {SEED}"
        np.testing.assert_array_equal(counts[..., 0], layer.sum(axis=2), err_msg=place)
    if spec.network.readout.kind == "leaky":
        np.testing.assert_allclose(theirs[-1], readout, rtol=1e-4, atol=1e-4)
