"""The runner reads a resolved spec without losing or changing anything."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict

import pytest

from ipulse_core.spec import derived_values
from ipulse_core.spec.resolved_spec import read_spec, spec_document

from .resolver import resolve
from .specs import spec_from

pytestmark = pytest.mark.old_python

DOCUMENT: Dict[str, Any] = {
    "version": 1,
    "network": {
        "layers": [{"neurons": 3, "decay": [0.1, 0.2, 0.3]}, {"neurons": 2, "capacity": 1}],
        "readout": {"kind": "spiking"},
    },
    "training": {"loss": "spike_count_mse", "regularisers": [{"kind": "upper"}]},
    "device": {"kind": "ipu", "engine_options": {"autoReport.all": "true"}},
    "metadata": {"kind": "mine", "not a name": "x"},
}


def test_fields_are_attributes_and_lists_are_tuples() -> None:
    spec = spec_from(DOCUMENT)
    assert spec.network.layers[0].decay == (0.1, 0.2, 0.3)
    assert spec.training.optimizer.kind == "adam"
    assert spec.network.readout.kind == "spiking"


def test_objects_with_the_users_own_keys_stay_dictionaries() -> None:
    spec = spec_from(DOCUMENT)
    assert spec.metadata == DOCUMENT["metadata"]
    assert spec.device.kind == "ipu"
    assert spec.device.engine_options == {"autoReport.all": "true"}


def test_a_spec_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec_from(DOCUMENT).seed = 1  # type: ignore[misc]


def test_the_document_is_that_which_was_read() -> None:
    document = resolve("ExperimentSpec", DOCUMENT)
    written = spec_document(read_spec(document))
    assert written == document
    assert list(written) == list(document)  # as a report shows it


def test_derived_values_are_those_of_the_service() -> None:
    spec = spec_from({**DOCUMENT, "data": {"kind": "dvs_gesture", "pixels_merged": 8}})
    assert derived_values.input_channels(spec.data) == 2 * 16 * 16
    assert derived_values.class_count(spec.data) == 11
    assert derived_values.spike_targets(spec.training) == (10.0, 1.0)
    assert len(derived_values.spiking_layers(spec.network)) == 3
    assert [derived_values.first_capacity(layer) for layer in spec.network.layers] == [None, 1]
