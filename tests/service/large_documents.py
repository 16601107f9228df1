"""The largest documents that a user may send, put together by hand."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable
from typing import Any

from ipulse.archives import layout
from ipulse.spec import parse_job_spec, spec_to_json
from ipulse_core import ids, strict_json

TIME = "2026-01-31T12:00:00.000Z"
SPEC: dict[str, Any] = {"version": 1, "name": "large", "network": {"layers": [{"neurons": 4}]}}


def archive(events: int, job_id: str | None = None, values: int = 0, text: str = "x") -> bytes:
    """Returns the archive of a failed job with so many events, each with metrics or a text."""
    spec = spec_to_json(parse_job_spec(SPEC))
    job = {
        "id": job_id or ids.new_id(ids.JOB),
        "name": "large",
        "state": "failed",
        "reason": "worker_stopped",
        "message": "It ended.",
        "priority": 0,
        "attempt": 1,
        "progress": None,
        "summary": None,
        "spec": spec,
        "spec_sha256": hashlib.sha256(strict_json.dumps(spec).encode()).hexdigest(),
        **dict.fromkeys(("created_at", "started_at", "finished_at", "updated_at"), TIME),
        "phase_seconds": {},
        "attempts": [
            {
                "number": 1,
                "agent": "agent-1",
                "reason": "worker_stopped",
                "message": "It ended.",
                "started_at": TIME,
                "finished_at": TIME,
            }
        ],
        "last_seq": events,
        "version": 3,
    }
    members = {
        layout.JOB: layout.canonical(job),
        layout.SPEC: layout.canonical(spec),
        layout.EVENTS: b"".join(map(layout.canonical, _events(events, values, text))),
        layout.METADATA: layout.canonical({"@graph": []}),
    }
    sums = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members.items()
    )
    members[layout.CHECKSUMS] = sums.encode()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    return content.getvalue()


def _events(number: int, values: int, text: str) -> Iterable[dict[str, Any]]:
    for seq in range(1, number):
        event: dict[str, Any] = {"seq": seq, "time": TIME, "attempt": 1}
        if values:
            event |= {"kind": "metric", "scope": "epoch", "epoch": seq, "epochs": number}
            event |= {"step": seq, "steps": number}
            event["values"] = {f"m{seq}_{value}": 1.5 for value in range(values)}
        else:
            event |= {"kind": "log", "message": text, "level": "info", "stream": "runner"}
        yield event
    end = {"state": "failed", "reason": "worker_stopped", "message": "It ended."}
    yield {"seq": number, "time": TIME, "attempt": None, "kind": "state", **end}


def profile_json(megabytes: float) -> bytes:
    """Returns a profile.json of a job with a great many parts."""
    part = {"name": "forward 0000000", "seconds": {"mean": 0.5}}
    count = round(megabytes * 2**20 / (len(json.dumps(part)) + 2))
    parts = [{"name": f"part {n:07}", "seconds": {"mean": n / 7}} for n in range(count)]
    return json.dumps(
        {
            "execution": {"phases": [], "runs": [{"steps": {"parts": parts}}]},
            "memory": {},
        }
    ).encode()
