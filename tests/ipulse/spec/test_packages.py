"""Layers with neurons of packages in a spec: what is valid, and what is refused with its place."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from ipulse.spec import parse_spec, spec_to_json
from ipulse.spec.sizes import weight_count
from ipulse_core.errors import InvalidSpec
from ipulse_core.spec.start_weights import start_shapes
from tests.ipulse.spec_documents import changed

PACKAGE = f"dendrites@sha256:{'ab' * 32}"
LAYER = "/network/layers/0"
DOCUMENT: dict[str, Any] = {
    "version": 1,
    "network": {
        "layers": [
            {
                "kind": "package",
                "neurons": 12,
                "bias": True,
                "neuron": {
                    "package": PACKAGE,
                    "parameters": [
                        {"name": "decay", "value": 0.5, "trainable": True},
                        {"name": "coupling", "per": "layer", "trainable": True},
                        {"name": "gain", "value": [0.5] * 12},
                    ],
                },
            },
            {"neurons": 8},
        ]
    },
}


def test_the_resolved_document_is_the_same_spec() -> None:
    spec = parse_spec(DOCUMENT)
    assert parse_spec(spec_to_json(spec)) == spec
    shapes = start_shapes(spec)
    assert shapes["layer_1"] == (64, 12)
    assert shapes["layer_1_bias"] == (12,)
    assert shapes["layer_1_parameter_decay"] == (12,)
    assert shapes["layer_1_parameter_coupling"] == (1,)
    assert "layer_1_parameter_gain" not in shapes
    assert weight_count(spec) == 64 * 12 + 12 * 8 + 8 * 10


@pytest.mark.parametrize(
    ("place", "value", "pointer"),
    [
        (f"{LAYER}/neuron/package", "dendrites", f"{LAYER}/neuron/package"),
        (f"{LAYER}/neuron/package", f"dendrites@{'ab' * 32}", f"{LAYER}/neuron/package"),
        (f"{LAYER}/neuron/parameters/1/name", "decay", f"{LAYER}/neuron/parameters/1/name"),
        (f"{LAYER}/neuron/parameters/2/value", [0.5], f"{LAYER}/neuron/parameters/2/value"),
        (f"{LAYER}/neuron/parameters/1/value", [1, 2], f"{LAYER}/neuron/parameters/1/value"),
        (f"{LAYER}/recurrent", True, f"{LAYER}/recurrent"),
        (f"{LAYER}/decay", 0.5, f"{LAYER}/decay"),
        ("/device", {"kind": "emulator"}, f"{LAYER}/kind"),
        ("/device", {"kind": "ipu"}, f"{LAYER}/kind"),
        ("/device", {"kind": "cpu", "weights_dtype": "bfloat16"}, "/device/weights_dtype"),
        ("/training", {"truncate_steps": 5}, "/training/truncate_steps"),
        ("/export", {"nir": [{"target": "generic"}]}, "/export/nir/0"),
        ("/network/trainable", ["decay"], "/network/trainable/0"),
    ],
)
def test_mistakes_have_a_place(place: str, value: Any, pointer: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_spec(changed(place, value, deepcopy(DOCUMENT)))
    assert pointer in [problem.pointer for problem in refused.value.problems]
