"""Example requests, by the name of their schema."""

from __future__ import annotations

from typing import Any

from ipulse_service.http.schemas.base import JOB_ID, METRIC, SPEC

EXAMPLES: dict[str, dict[str, Any]] = {
    "ExperimentSpec": SPEC,
    "TokenRequest": {"name": "dashboard", "role": "reader", "seconds": 86_400},
    "Announcement": {
        "agent": "worker-1-4711",
        "device_kinds": ["cpu", "ipu"],
        "quarantined": ["ipu"],
    },
    "ClaimRequest": {"job_id": JOB_ID, "agent": "worker-1-4711", "device_kinds": ["cpu"]},
    "EventBatch": {
        "first": 7,
        "events": [
            {"kind": "phase", "phase": "run"},
            {"kind": "metric", **METRIC},
            {"kind": "log", "message": "epoch 3: loss 0.41", "level": "info", "stream": "runner"},
            {"kind": "lines", "messages": ["a warning", "and another"], "stream": "stderr"},
        ],
    },
    "Finish": {
        "reason": "completed",
        "message": "",
        "summary": {"accuracy": 0.97},
        "first": 12,
        "events": [{"kind": "phase", "phase": "report"}],
        "manifest": {
            "name": "manifest.json",
            "sha256": "de0d5c1d1a8e641b7b33343d6e48c1d5752d8f0f4f5a7fe82bb7035908f364ed",
            "base64": "eyJmaWxlcyI6IFtdfQo=",
            "media_type": "application/json",
        },
    },
}
