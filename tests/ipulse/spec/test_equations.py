"""Layers with equations in a spec: what is valid, and what is refused with its place."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from ipulse.spec import parse_spec, spec_to_json
from ipulse.spec.sizes import weight_count
from ipulse_core.errors import InvalidSpec
from ipulse_core.spec.start_weights import start_shapes

EXAMPLE = Path(__file__).parents[3] / "examples/neurons/resonating_digits.yaml"
DOCUMENT = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))


def changed(path: str, value: Any) -> dict[str, Any]:
    document = deepcopy(DOCUMENT)
    *parents, last = (int(key) if key.isdigit() else key for key in path.split("/"))
    place: Any = document
    for key in parents:
        place = place.setdefault(key, {}) if isinstance(place, dict) else place[key]
    place[last] = value
    return document


def test_the_resolved_document_is_the_same_spec() -> None:
    spec = parse_spec(DOCUMENT)
    assert parse_spec(spec_to_json(spec)) == spec
    shapes = start_shapes(spec)
    assert shapes["layer_1"] == (64, 96)
    assert shapes["layer_1_parameter_omega"] == (96,)
    assert shapes["layer_1_parameter_beta"] == (1,)
    assert "layer_1_parameter_theta" not in shapes
    assert weight_count(spec) == 64 * 96 + 96 * 10


@pytest.mark.parametrize(
    ("path", "value", "pointer"),
    [
        ("network/layers/0/neuron/spike", "u - thta", "/network/layers/0/neuron/spike"),
        (
            "network/layers/0/neuron/states/1/update",
            "w +",
            "/network/layers/0/neuron/states/1/update",
        ),
        ("network/layers/0/neuron/states/0/decay", 1, "/network/layers/0/neuron/states/0/decay"),
        (
            "network/layers/0/neuron/parameters/0/value",
            [0.5, 0.5],
            "/network/layers/0/neuron/parameters/0/value",
        ),
        ("network/layers/0/neuron/states", [], "/network/layers/0/neuron/states"),
        ("network/layers/0/delay", 2, "/network/layers/0/delay"),
        ("network/delay", 2, "/network/delay"),
        ("network/trainable", ["decay"], "/network/trainable/0"),
        (
            "network/surrogate",
            {"name": "table", "values": [0, 1, 0], "width": 1},
            "/network/surrogate/name",
        ),
        ("device", {"kind": "emulator", "ipus": 2}, "/device/ipus"),
        ("device", {"kind": "emulator", "training": "device"}, "/device/training"),
        ("device", {"kind": "ipu"}, "/network/layers/0/kind"),
        ("device/weights_dtype", "bfloat16", "/device/weights_dtype"),
        ("export/nir", [{"target": "norse"}], "/export/nir/0"),
        (
            "training/regularisers",
            [{"kind": "membrane", "strength": 1, "low": -1, "high": 1}],
            "/training/regularisers/0/kind",
        ),
        (
            "network/layers",
            [{"kind": "conv2d", "filters": 2, "kernel_size": 3}, DOCUMENT["network"]["layers"][0]],
            "/network/layers/0/kind",
        ),
    ],
)
def test_mistakes_have_a_place(path: str, value: Any, pointer: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(changed(path, value))
    assert pointer in [problem.pointer for problem in caught.value.problems]


def test_a_typing_error_is_explained() -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(changed("network/layers/0/neuron/spike", "u - (thta + beta * a)"))
    (problem,) = caught.value.problems
    assert "column 6" in problem.detail
    assert "did you mean theta?" in problem.detail
