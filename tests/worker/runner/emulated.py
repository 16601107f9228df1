"""A spec for the Poplar op that is small enough to be emulated in a test."""

from __future__ import annotations

from typing import Any, Dict


def ipu_spec(device: Dict[str, Any], **changes: Any) -> Dict[str, Any]:
    """Eight steps of Randman's spikes, 12 neurons; `changes` go over its top-level fields."""
    document: Dict[str, Any] = {
        "version": 1,
        "name": "on IPUs",
        "seed": 5,
        "data": {"kind": "randman", "classes": 2, "units": 6, "steps": 8, "samples_per_class": 20},
        "network": {
            "layers": [
                {"neurons": 12, "second_threshold": 0.5, "capacity": 6, "bias": True},
                {"neurons": 8},
            ]
        },
        "training": {
            "epochs": 2,
            "batch_size": 12,
            "optimizer": {"kind": "adam", "learning_rate": 0.01},
        },
        "device": device,
    }
    return {**document, **changes}
