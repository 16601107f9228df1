"""Types and example values that several schemas share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

JOB_ID, ATTEMPT_ID = "job_0b5c2e6f7a8d9c1e2f3a4b5c", "att_6a7b8c9d0e1f2a3b4c5d6e7f"
ARTIFACT_ID = "art_1a2b3c4d5e6f708192a3b4c5"
SHA256 = "5f2a4c1e6b8d9f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607182"
SPEC: dict[str, Any] = {
    "version": 1,
    "name": "digits",
    "seed": 1,
    "data": {"kind": "digits"},
    "network": {
        "layers": [
            {"neurons": 128, "second_threshold": 0.5},
            {"neurons": 128, "second_threshold": 0.5},
        ]
    },
    "training": {"epochs": 30},
    "device": {"kind": "cpu"},
}
BRIEF_SPEC: dict[str, Any] = {
    "version": 2,
    "name": "digits",
    "seed": 1,
    "network": {
        "layers": [
            {"neurons": 128, "neuron": {"second_threshold": 0.5}},
            {"neurons": 128, "neuron": {"second_threshold": 0.5}},
        ]
    },
}
METRIC = {
    "epoch": 3,
    "epochs": 30,
    "step": 36,
    "steps": 360,
    "values": {"loss": 0.41},
    "scope": "step",
}
TROUBLE = {
    "reason": "worker_disk_full",
    "message": "/var/lib/ipulse/work: 0 bytes are free, and a job needs 16,777,216.",
}

Timestamp = Annotated[str, Field(description="RFC 3339 in UTC, to the millisecond.")]
Digest = Annotated[str, Field(description="SHA-256 in hexadecimal.")]


def example(**fields: Any) -> ConfigDict:
    """Returns the configuration of a model that has this example in its JSON Schema."""
    return ConfigDict(json_schema_extra={"examples": [fields]})
