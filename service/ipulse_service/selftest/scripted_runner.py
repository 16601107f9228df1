"""A runner that does not train, for many faults: real processes, pipes and files.

The spec's metadata say what it does. Its "weights" are a chain of digests, one for each step, so
that a checkpoint that was lost, mixed up or resumed wrongly shows in the end. It writes a line
into the execution log at each step: an independent record of what ran when.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from ipulse_core.manifest import ListedFile, manifest_json

CHECKPOINT = "steps.checkpoint"
FLOOD_BYTES = 32 * 2**20
ORPHAN_SECONDS = 600.0

Assignment = dict[str, Any]


def weights_after(job: str, steps: int, state: str = "", begun: int = 0) -> str:
    """Returns the weights after a job's steps, from the beginning or from a checkpoint."""
    for step in range(begun, steps):
        state = hashlib.sha256(f"{job} {step} {state}".encode()).hexdigest()
    return state


def _manifest(name: str, weights: str) -> str:
    file = ListedFile(
        name, "weights", "text/plain", hashlib.sha256(weights.encode()).hexdigest(), len(weights)
    )
    return json.dumps(manifest_json([file]))


class Runner:
    """An attempt that follows the script in the spec's metadata."""

    def __init__(self, events: int) -> None:
        self._events = events
        self._is_stopping = False

    def run(self) -> int:
        """Runs the attempt and returns the exit code."""
        signal.signal(signal.SIGTERM, self._stop)
        self._say("ready", python="scripted", tensorflow="none", import_seconds=0.0)
        line = sys.stdin.readline()
        if not line:
            return 0
        assignment: Assignment = json.loads(line)
        orders = assignment["spec"]["metadata"]
        self._witness("begin", assignment)
        for phase in ("prepare", "compile", "acquire", "run"):
            self._say("phase", phase=phase)
        getattr(self, "_" + orders.get("does", "trains"))(assignment)
        return 0

    def _trains(self, assignment: Assignment) -> None:
        orders = assignment["spec"]["metadata"]
        steps, seconds = int(orders["steps"]), int(orders["step_ms"]) / 1000
        state, begun = "", 0
        if assignment["checkpoint"]:
            kept = json.loads(Path(assignment["checkpoint"]).read_text())
            state, begun = kept["state"], kept["step"]
        for step in range(begun, steps):
            time.sleep(seconds)
            state = weights_after(assignment["job_id"], step + 1, state, step)
            self._witness("step", assignment)
            values = {"loss": 1.0 / (step + 1)}
            self._say("metric", epoch=1, epochs=1, step=step + 1, steps=steps, values=values)
            if step % 4 == 3 or self._is_stopping:
                self._write(assignment, CHECKPOINT, json.dumps({"state": state, "step": step + 1}))
                self._say("checkpoint", path=CHECKPOINT, epoch=0, step=step + 1)
            if self._is_stopping:
                self._say("done", reason="cancelled_by_user", message="", summary={})
                return
        self._say("phase", phase="report")
        self._write(assignment, "weights.txt", state)
        self._say("artifact", path="weights.txt", role="weights", media_type="text/plain")
        self._write(assignment, "manifest.json", _manifest("weights.txt", state))
        self._say("artifact", path="manifest.json", role="manifest", media_type="application/json")
        self._witness("end", assignment)
        self._say("done", reason="completed", message="", summary={"steps": float(steps)})

    def _ignores_term(self, assignment: Assignment) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._witness("step", assignment)
        self._say("log", message="deaf")
        time.sleep(ORPHAN_SECONDS)

    def _double_forks(self, assignment: Assignment) -> None:
        """Starts a process in its own session that ignores SIGTERM, and completes."""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                self._witness("orphan", assignment)
                time.sleep(ORPHAN_SECONDS)
            os._exit(0)
        os.wait()
        self._trains(assignment)

    def _hoards(self, assignment: Assignment) -> None:
        """Allocates memory until the kernel kills it, in its first attempt."""
        if assignment["attempt"] == 1:
            group = Path(assignment["spec"]["metadata"]["cgroup"])
            (group / "cgroup.procs").write_text(str(os.getpid()))
            taken = []
            while True:
                taken.append(b"x" * 2**20)
        self._trains(assignment)

    def _floods(self, assignment: Assignment) -> None:
        """Writes much output, some of it not text and without line ends."""
        block = bytes(range(256)) * 256
        for _ in range(FLOOD_BYTES // len(block)):
            sys.stdout.buffer.write(block.replace(b"\n", b"\0"))
        sys.stdout.buffer.write(b"\nline\n" * 20_000)
        sys.stdout.flush()
        self._trains(assignment)

    def _stop(self, *_: Any) -> None:
        self._is_stopping = True

    def _say(self, kind: str, **fields: Any) -> None:
        os.write(self._events, (json.dumps({"kind": kind, **fields}) + "\n").encode())

    @staticmethod
    def _write(assignment: Assignment, name: str, text: str) -> None:
        path = Path(assignment["work_dir"]) / name
        draft = path.with_suffix(".draft")
        draft.write_text(text)
        draft.replace(path)

    @staticmethod
    def _witness(what: str, assignment: Assignment) -> None:
        line = {
            "what": what,
            "job": assignment["job_id"],
            "attempt": assignment["attempt"],
            "pid": os.getpid(),
            "at": time.monotonic(),
        }
        path = assignment["spec"]["metadata"]["execution_log"]
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, (json.dumps(line) + "\n").encode())
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(Runner(int(sys.argv[sys.argv.index("--events-fd") + 1])).run())
