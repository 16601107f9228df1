"""Events and files of a scripted runner."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

STARTED = time.monotonic()
ASSIGNED: list[float] = []  # when the assignment arrived
EVENTS = int(sys.argv[sys.argv.index("--events-fd") + 1])
Assignment = dict[str, Any]


def send(kind: str, **fields: Any) -> None:
    os.write(EVENTS, (json.dumps({"kind": kind, **fields}) + "\n").encode())


def log(message: str) -> None:
    send("log", message=message)


def phases(*names: str) -> None:
    for name in names or ("prepare", "compile", "acquire", "run"):
        send("phase", phase=name)


def metric(step: int = 1) -> None:
    send("metric", epoch=1, epochs=1, step=step, steps=10, values={"loss": 1.0 / step})


def write(assignment: Assignment, name: str, content: bytes) -> None:
    (Path(assignment["work_dir"]) / name).write_bytes(content)


def manifest(*files: tuple[str, str, bytes]) -> bytes:
    """A manifest that lists files by role, name and content."""
    listed = [
        {
            "name": name,
            "role": role,
            "media_type": "application/octet-stream",
            "sha256": hashlib.sha256(content).hexdigest(),
            "size": len(content),
        }
        for role, name, content in files
    ]
    return json.dumps({"schema": "ipulse.manifest/1", "artifacts": listed}).encode()


def results(assignment: Assignment, listed: bytes | None = None) -> None:
    """Complete with a valid manifest, or with another one."""
    metrics, weights = b'{"loss": 1.0}\n', os.urandom(3_000_000)
    true = manifest(("metrics", "metrics.jsonl", metrics), ("weights", "weights.npz", weights))
    phases("report")
    # Named first, although it must be stored last: the order is the agent's duty.
    write(assignment, "manifest.json", true if listed is None else listed)
    send("artifact", path="manifest.json", role="manifest", media_type="application/json")
    write(assignment, "metrics.jsonl", metrics)
    send("artifact", path="metrics.jsonl", role="metrics", media_type="application/jsonl")
    write(assignment, "weights.npz", weights)
    send("artifact", path="weights.npz", role="weights")


def done(reason: str = "completed", message: str = "", **summary: float) -> None:
    send("done", reason=reason, message=message, summary=summary)
