"""Augmentation of events in specs."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse_core.errors import InvalidSpec

NOISE = {"kind": "poisson", "channels": 64, "classes": 3, "steps": 20}


def document(data: dict[str, Any], **augmentation: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "data": data,
        "network": {"layers": [{"neurons": 8}]},
        "training": {"augmentation": augmentation},
    }


@pytest.mark.parametrize("data", [{"kind": "digits"}, {"kind": "n_mnist", "name": "n_mnist"}])
def test_images_can_be_flipped_and_moved(data: dict[str, Any]) -> None:
    spec = parse_spec(document(data, flip=True, crop_pixels=2))
    assert spec.training.augmentation is not None
    assert spec.training.augmentation.flip


@pytest.mark.parametrize(
    ("data", "augmentation", "place"),
    [
        ({"kind": "digits"}, {}, ""),
        ({"kind": "digits"}, {"drop": 1.0}, "/drop"),
        ({"kind": "digits"}, {"jitter_ms": -1.0}, "/jitter_ms"),
        (NOISE, {"flip": True}, "/flip"),
        (NOISE, {"drop": 0.1, "crop_pixels": 1}, "/crop_pixels"),
    ],
)
def test_refuses(data: dict[str, Any], augmentation: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidSpec) as raised:
        parse_spec(document(data, **augmentation))
    assert [p.pointer for p in raised.value.problems] == [f"/training/augmentation{place}"]
