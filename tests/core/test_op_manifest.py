"""The manifest of a custom op as text that no JSON writer made."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest

from ipulse_core.errors import InvalidInput
from ipulse_core.op_manifest.manifest import parse_manifest

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
    ("place", "number"),
    [("rate/default", "0.5"), ("rate/minimum", "0.25"), ("most/maximum", "8.125")],
)
def test_a_number_beyond_all_floats_has_its_place(place: str, number: str) -> None:
    text = json.dumps(MANIFEST).replace(number, "1e999")
    with pytest.raises(InvalidInput) as refused:
        parse_manifest(text.encode(), lambda _: True)
    assert f"/attributes/{place}" in [each.pointer for each in refused.value.problems]
