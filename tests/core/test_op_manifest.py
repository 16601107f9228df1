"""The manifest of a custom op as text that no JSON writer made."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest

from ipulse_core.errors import InvalidInput
from ipulse_core.op_manifest.reader import parse_manifest

MANIFEST: Dict[str, Any] = {
    "name": "scaled",
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["n"]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["n"]}],
    "attributes": {
        "rate": {"type": "number", "default": 0.5, "minimum": 0.25},
        "most": {"type": "number", "default": 1, "maximum": 8.125},
    },
    "sizes": {"n": 4},
}


def test_attributes_have_their_defaults() -> None:
    found = parse_manifest(json.dumps(MANIFEST).encode(), lambda _: True)
    assert json.loads(found.default_attributes) == {"rate": 0.5, "most": 1}


@pytest.mark.parametrize(
    ("place", "number", "huge"),
    [
        ("rate/default", "0.5", "1e999"),
        ("rate/minimum", "0.25", "1e999"),
        ("rate/minimum", "0.25", "1" + 400 * "0"),
        ("most/maximum", "8.125", "1e999"),
    ],
)
def test_a_number_beyond_all_floats_has_its_place(place: str, number: str, huge: str) -> None:
    text = json.dumps(MANIFEST).replace(number, huge)
    with pytest.raises(InvalidInput) as refused:
        parse_manifest(text.encode(), lambda _: True)
    assert f"/attributes/{place}" in [each.pointer for each in refused.value.problems]


def test_huge_sizes_have_their_place() -> None:
    inputs = [{**MANIFEST["inputs"][0], "shape": [10**400]}]
    for document, pointer in (
        ({**MANIFEST, "sizes": {"n": 10**4000}}, "/inputs/0/shape/0"),
        ({**MANIFEST, "inputs": inputs}, "/inputs/0/shape/0"),
    ):
        with pytest.raises(InvalidInput) as refused:
            parse_manifest(json.dumps(document).encode(), lambda _: True)
        assert pointer in [each.pointer for each in refused.value.problems]


WEIGHT: Dict[str, Any] = {"name": "w", "shape": ["n"], "initialiser": "ones"}


def with_weight(**changes: Any) -> bytes:
    weight = {**WEIGHT, **changes}
    return json.dumps({**MANIFEST, "weights": [weight], "gradients": ["x", "w"]}).encode()


@pytest.mark.old_python
def test_an_op_gets_its_weights_behind_its_inputs() -> None:
    found = parse_manifest(with_weight(maximum=2), lambda _: True)
    assert [tensor.name for tensor in found.entering] == ["x", "w"]
    assert found.gradients == [0, 1]
    (weight,) = found.weights
    assert weight.trainable
    assert (weight.minimum, weight.maximum) == (None, 2)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"name": "x"}, "/weights/0/name"),
        ({"name": "a.b"}, "/weights/0/name"),
        ({"shape": []}, "/weights/0/shape"),
        ({"shape": ["steps"]}, "/weights/0/shape/0"),
        ({"shape": ["nothing"]}, "/weights/0/shape/0"),
        ({"initialiser": "random"}, "/weights/0/initialiser"),
        ({"initialiser": {"name": ["ones"]}}, "/weights/0/initialiser"),
        ({"initialiser": "uniform"}, "/weights/0/initialiser/low"),
        ({"initialiser": {"name": "uniform", "low": 1, "high": 0}}, "/weights/0/initialiser/low"),
        ({"initialiser": {"name": "normal", "std": -1}}, "/weights/0/initialiser/std"),
        ({"initialiser": {"name": "ones", "value": 1}}, "/weights/0/initialiser/value"),
        ({"trainable": 1}, "/weights/0/trainable"),
        ({"minimum": 2, "maximum": 1}, "/weights/0/minimum"),
        ({"minimum": True}, "/weights/0/minimum"),
        ({"minimum": -(10**400)}, "/weights/0/minimum"),
        ({"maximum": 1e39}, "/weights/0/maximum"),
        ({"initialiser": {"name": "normal", "std": 10**400}}, "/weights/0/initialiser/std"),
        ({"colour": 1}, "/weights/0/colour"),
    ],
)
def test_a_wrong_weight_has_its_place(changes: Dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_manifest(with_weight(**changes), lambda _: True)
    assert pointer in [each.pointer for each in refused.value.problems]


@pytest.mark.parametrize("listed", [3, {"w": 1}, [3], ["w"], [WEIGHT] * 17])
def test_what_is_no_list_of_weights_has_its_place(listed: Any) -> None:
    document = {**MANIFEST, "weights": listed}
    with pytest.raises(InvalidInput) as refused:
        parse_manifest(json.dumps(document).encode(), lambda _: True)
    assert any(each.pointer.startswith("/weights") for each in refused.value.problems)


def test_a_trained_weight_needs_a_gradient() -> None:
    document = {**MANIFEST, "weights": [WEIGHT], "gradients": ["x"]}
    with pytest.raises(InvalidInput) as refused:
        parse_manifest(json.dumps(document).encode(), lambda _: True)
    assert [each.pointer for each in refused.value.problems] == ["/gradients"]
    document["weights"] = [{**WEIGHT, "trainable": False}]
    parse_manifest(json.dumps(document).encode(), lambda _: True)
