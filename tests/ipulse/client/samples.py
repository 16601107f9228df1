"""Answers as the service gives them, to build from; tests against the service itself hold them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from ipulse.client import Job
from ipulse.client.jobs.snapshot import JobSnapshot

TIME = "2026-01-02T03:04:05.678Z"


def job(**changes: Any) -> dict[str, Any]:
    value: dict[str, Any] = {
        "object": "job",
        "id": "job_1",
        "name": "digits",
        "state": "running",
        "reason": None,
        "message": "",
        "device": "cpu",
        "pool": "default",
        "priority": 0,
        "deadline_at": None,
        "finish_by": None,
        "imported": None,
        "project": "default",
        "owner": "owner",
        "created_by": "owner",
        "allowed": ["change", "retry", "continue"],
        "cycles_band": None,
        "start_from": None,
        "waiting_on": None,
        "attempt": 1,
        "progress": None,
        "summary": None,
        "spec": {},
        "spec_sha256": "0" * 64,
        "created_at": TIME,
        "started_at": TIME,
        "finished_at": None,
        "updated_at": TIME,
        "phase_seconds": {},
        "attempts": [],
        "last_seq": 0,
        "metadata": {},
        "tags": [],
        "group": None,
        "notes": "",
        "version": 1,
    }
    assert set(changes) <= set(value)
    return {**value, **changes}


def snapshot(**changes: Any) -> JobSnapshot:
    return JobSnapshot("http://127.0.0.1:1", Job.from_json(job(**changes)))


def event(seq: int, kind: str = "log", **fields: Any) -> dict[str, Any]:
    return {"seq": seq, "time": TIME, "attempt": 1, "kind": kind, **fields}


def stream(events: Sequence[dict[str, Any]], end: bool) -> bytes:
    text = "".join(
        f"id: {event['seq']}\nevent: {event['kind']}\ndata: {json.dumps(event)}\n\n"
        for event in events
    )
    return (text + ("event: end\ndata: {}\n\n" if end else "")).encode()


def artifact(
    name: str, content: bytes, role: str = "log", sha256: str | None = None
) -> dict[str, Any]:
    return {
        "id": "artifact_" + hashlib.sha256(name.encode()).hexdigest()[:8],
        "name": name,
        "role": role,
        "media_type": "application/octet-stream",
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest() if sha256 is None else sha256,
        "attempt": 1,
        "created_at": TIME,
    }


def artifacts(*listed: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {"artifacts": list(listed)}
