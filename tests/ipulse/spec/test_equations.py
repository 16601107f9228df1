"""Layers with equations or packages in a spec: what is valid, and where a mistake is named."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from ipulse.spec import parse_spec, spec_to_json
from ipulse.spec.sizes import weight_count
from ipulse_core.errors import InvalidSpec
from ipulse_core.registry.versions import lower
from ipulse_core.spec.start_weights import start_shapes
from tests.ipulse.spec_documents import changed

EXAMPLE = Path(__file__).parents[3] / "examples/neurons/resonating_digits.yaml"
DOCUMENT = lower(yaml.safe_load(EXAMPLE.read_text(encoding="utf-8")))
LAYER = "/network/layers/0"


def test_the_resolved_document_is_the_same_spec() -> None:
    spec = parse_spec(DOCUMENT)
    assert parse_spec(spec_to_json(spec)) == spec
    shapes = start_shapes(spec)
    assert shapes["layer_1"] == (64, 96)
    assert shapes["layer_1_parameter_omega"] == (96,)
    assert shapes["layer_1_parameter_beta"] == (1,)
    assert "layer_1_parameter_theta" not in shapes
    assert weight_count(spec) == 64 * 96 + 96 * 10
    recurrent = parse_spec(changed(f"{LAYER}/recurrent", True, deepcopy(DOCUMENT)))
    assert start_shapes(recurrent)["layer_1_recurrent"] == (96, 96)
    assert weight_count(recurrent) == weight_count(spec) + 96 * 96


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (f"{LAYER}/neuron/spike", "u - thta"),
        (f"{LAYER}/neuron/states/1/update", "w +"),
        (f"{LAYER}/neuron/states/0/decay", 1),
        (f"{LAYER}/neuron/parameters/0/value", [0.5, 0.5]),
        (f"{LAYER}/neuron/states", []),
        (f"{LAYER}/delay", -1),
        (f"{LAYER}/gate", 0.5),
        (f"{LAYER}/delay", 10_000),
        (f"{LAYER}/capacity", 1000),
        (f"{LAYER}/policy", "top"),
    ],
)
def test_mistakes_have_a_place(place: str, value: Any) -> None:
    assert_named(place, value, place)


@pytest.mark.parametrize(
    ("place", "value", "pointer"),
    [
        (
            "/network/surrogate",
            {"name": "table", "values": [0.5] * 65, "width": 1},
            "/network/surrogate/values",
        ),
        ("/device", {"kind": "emulator", "ipus": 2}, "/device/ipus"),
        ("/device", {"kind": "emulator", "training": "device"}, "/device/training"),
        ("/device", {"kind": "emulator", "states_dtype": "float16"}, "/device/states_dtype"),
        ("/device", {"kind": "ipu"}, f"{LAYER}/kind"),
        ("/export/nir", [{"target": "norse"}], "/export/nir/0"),
    ],
)
def test_misfits_have_a_place(place: str, value: Any, pointer: str) -> None:
    assert_named(place, value, pointer)


def assert_named(place: str, value: Any, pointer: str) -> None:
    """The example with another value at a place is refused, with this pointer among others."""
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(changed(place, value, deepcopy(DOCUMENT)))
    assert pointer in [problem.pointer for problem in caught.value.problems]


def test_a_recurrent_layer_with_a_package_sends_all_its_spikes() -> None:
    document = deepcopy(PACKAGED)
    layer = document["network"]["layers"][0]
    layer.update(capacity=4)
    parse_spec(document)
    layer.update(recurrent=True)
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(document)
    (problem,) = caught.value.problems
    assert problem.pointer == f"{LAYER}/capacity"


def test_a_recurrent_layer_with_equations_sends_all_its_spikes_on_tiles() -> None:
    document = deepcopy(DOCUMENT)
    document["network"]["layers"][0].update(capacity=4, recurrent=True)
    parse_spec(document)
    document["device"] = {"kind": "emulator"}
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(document)
    (problem,) = caught.value.problems
    assert problem.pointer == f"{LAYER}/capacity"


def test_a_gate_does_not_follow_the_ramp_of_second_thresholds() -> None:
    """In a network with both kinds of layers; each is accepted without the other."""
    document = changed(f"{LAYER}/gate", -0.5, deepcopy(DOCUMENT))
    document["network"]["layers"].append({"neurons": 8, "second_threshold": 0.5})
    parse_spec(document)
    document["training"]["second_threshold_ramp"] = {"epochs": 1}
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(document)
    (problem,) = caught.value.problems
    assert problem.pointer == f"{LAYER}/gate"
    del document["network"]["layers"][0]["gate"]
    parse_spec(document)


def test_a_typing_error_is_explained() -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(changed(f"{LAYER}/neuron/spike", "u - (thta + beta * a)", deepcopy(DOCUMENT)))
    (problem,) = caught.value.problems
    assert "column 6" in problem.detail
    assert "did you mean theta?" in problem.detail


PACKAGE = f"dendrites@sha256:{'ab' * 32}"
PACKAGED: dict[str, Any] = {
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


def test_a_layer_of_a_package_has_its_arrays() -> None:
    spec = parse_spec(PACKAGED)
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
        (f"{LAYER}/capacity", 13, f"{LAYER}/capacity"),
        (f"{LAYER}/policy", "cyclic", f"{LAYER}/policy"),
        (f"{LAYER}/neuron/package", "dendrites", f"{LAYER}/neuron/package"),
        (f"{LAYER}/neuron/package", f"dendrites@{'ab' * 32}", f"{LAYER}/neuron/package"),
        (f"{LAYER}/neuron/parameters/1/name", "decay", f"{LAYER}/neuron/parameters/1/name"),
        (f"{LAYER}/neuron/parameters/2/value", [0.5], f"{LAYER}/neuron/parameters/2/value"),
        (f"{LAYER}/neuron/parameters/1/value", [1, 2], f"{LAYER}/neuron/parameters/1/value"),
        (f"{LAYER}/decay", 0.5, f"{LAYER}/decay"),
        ("/device", {"kind": "emulator"}, f"{LAYER}/kind"),
        ("/device", {"kind": "ipu"}, f"{LAYER}/kind"),
        ("/training", {"truncate_steps": 5}, "/training/truncate_steps"),  # trains parameters
        (
            "/training",
            {"regularisers": [{"kind": "membrane", "layers": [2, 1]}]},
            "/training/regularisers/0/kind",
        ),
        ("/export", {"nir": [{"target": "generic"}]}, "/export/nir/0"),
    ],
)
def test_mistakes_in_layers_of_packages_have_a_place(place: str, value: Any, pointer: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_spec(changed(place, value, deepcopy(PACKAGED)))
    assert pointer in [problem.pointer for problem in refused.value.problems]
