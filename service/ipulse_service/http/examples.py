"""What requests and answers look like, for readers of the OpenAPI document."""

from __future__ import annotations

from typing import Any

_SHA256 = "5f2a4c1e6b8d9f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607182"
_JOB, _AT = "job_0b5c2e6f7a8d9c1e2f3a4b5c", "att_6a7b8c9d0e1f2a3b4c5d6e7f"
_ARTIFACT = "art_1a2b3c4d5e6f708192a3b4c5"

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
_METRIC = {"epoch": 3, "epochs": 30, "step": 36, "steps": 360, "values": {"loss": 0.41}}
_SUMMARY: dict[str, Any] = {
    "object": "job",
    "id": _JOB,
    "name": "digits",
    "state": "running",
    "reason": None,
    "message": "",
    "device": "cpu",
    "priority": 0,
    "deadline_at": None,
    "attempt": 1,
    "progress": _METRIC,
    "summary": None,
    "spec_sha256": _SHA256,
    "created_at": "2026-01-31T12:00:00.000Z",
    "started_at": "2026-01-31T12:00:00.041Z",
    "finished_at": None,
    "updated_at": "2026-01-31T12:00:09.310Z",
    "phase_seconds": {"queue": 0.041, "prepare": 0.2, "compile": 1.9, "acquire": 0.01},
    "attempts": [
        {
            "number": 1,
            "agent": "worker-1-4711",
            "reason": None,
            "message": "",
            "started_at": "2026-01-31T12:00:00.041Z",
            "finished_at": None,
        }
    ],
    "last_seq": 52,
    "metadata": {"team": "audio"},
    "version": 31,
}

# By the name of the schema, in the document's components.
EXAMPLES: dict[str, dict[str, Any]] = {
    "ExperimentSpec": SPEC,
    "TokenRequest": {"name": "dashboard", "role": "reader", "seconds": 86_400},
    "Announcement": {
        "agent": "worker-1-4711",
        "device_kinds": ["cpu", "ipu"],
        "quarantined": ["ipu"],
    },
    "ClaimRequest": {"job_id": _JOB, "agent": "worker-1-4711", "device_kinds": ["cpu"]},
    "EventBatch": {
        "first": 7,
        "events": [
            {"kind": "phase", "phase": "run"},
            {"kind": "metric", **_METRIC},
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
    "JobBody": {**_SUMMARY, "spec": SPEC, "waiting_on": None},
    "JobPageBody": {"jobs": [_SUMMARY], "next_page_token": ""},
    "ValidationBody": {"valid": True, "spec": SPEC, "spec_sha256": _SHA256},
    "EventPageBody": {
        "events": [
            {
                "seq": 1,
                "time": "2026-01-31T12:00:00.000Z",
                "attempt": None,
                "kind": "state",
                "state": "queued",
                "reason": None,
                "message": "",
            },
            {
                "seq": 12,
                "time": "2026-01-31T12:00:03.004Z",
                "attempt": 1,
                "kind": "metric",
                **_METRIC,
            },
        ],
        "next_after": 12,
        "end": False,
    },
    "ArtifactListBody": {
        "artifacts": [
            {
                "id": _ARTIFACT,
                "name": "weights.npz",
                "role": "weights",
                "media_type": "application/zip",
                "size": 137_216,
                "sha256": _SHA256,
                "attempt": 1,
                "created_at": "2026-01-31T12:01:00.000Z",
            }
        ],
        "complete": False,
    },
    "IssuedBody": {
        "token": "ipulse_0123456789abcdef_the-secret-told-only-this-once",
        "about": {
            "id": "0123456789abcdef",
            "name": "dashboard",
            "role": "reader",
            "created_at": "2026-01-31T12:00:00.000Z",
            "expires_at": "2026-02-01T12:00:00.000Z",
        },
    },
    "TokenListBody": {
        "tokens": [
            {
                "id": "0123456789abcdef",
                "name": "dashboard",
                "role": "reader",
                "created_at": "2026-01-31T12:00:00.000Z",
                "expires_at": "2026-02-01T12:00:00.000Z",
            }
        ]
    },
    "ClaimBody": {
        "job_id": _JOB,
        "attempt_id": _AT,
        "attempt": 2,
        "fence": "only-the-agent-that-holds-the-attempt-knows-it",
        "lease_seconds": 15.0,
        "heartbeat_seconds": 5.0,
        "spec": SPEC,
        "checkpoint": {
            "artifact_id": _ARTIFACT,
            "sha256": _SHA256,
            "size": 275_968,
            "name": "checkpoint-3.npz",
        },
    },
    "HeartbeatBody": {"cancel": False, "lease_seconds": 15.0},
    "OrdersBody": {"cancel": True},
    "NextEventBody": {"next": 10},
    "StoredBody": {"artifact_id": _ARTIFACT, "sha256": _SHA256},
}

PROBLEM: dict[str, Any] = {
    "type": "urn:ipulse:problem:invalid_spec",
    "title": "Unprocessable Content",
    "status": 422,
    "detail": "The spec is not valid.",
    "instance": "/v1/jobs",
    "code": "invalid_spec",
    "request_id": "3f6c1d2e9a8b7c6d",
    "errors": [
        {
            "pointer": "/training/epochs",
            "code": "out_of_range",
            "detail": "must be at least 1; got 0",
        }
    ],
}
