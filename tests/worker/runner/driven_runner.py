"""A real runner process, driven over its pipes as an agent drives it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Union

from .forked_runner import SOURCE, ForkedRunner
from .resolver import resolve

SECONDS = 120.0  # a hang, not a slow machine
F_SETPIPE_SZ = 1031  # which Python names from 3.10 on

Event = Dict[str, Any]


class DrivenRunner:
    """Starts at once. Close it when done: nothing that was started outlives its test.

    environment: of a program of its own, beside this process's; None: a fork.
    """

    def __init__(self, log: Path, environment: Optional[Dict[str, str]] = None) -> None:
        reader, writer = os.pipe()
        # The least there is, a page: it waits for who does not read, and is never far ahead.
        fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
        self._reader = reader
        self._unread = b""
        self.events: List[Event] = []
        self.log = log
        self.started = time.monotonic()
        self.process: Union[ForkedRunner, subprocess.Popen[bytes]]
        with log.open("wb") as output:
            if environment is None:
                self.process = ForkedRunner(output.fileno(), writer)
            else:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "ipulse_worker.runner", "--events-fd", str(writer)],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    pass_fds=(writer,),
                    cwd=str(SOURCE),
                    env={**os.environ, "PYTHONPATH": str(SOURCE), **environment},
                    start_new_session=True,
                )
        os.close(writer)

    def assign(
        self, work_dir: Path, spec: Any, checkpoint: Optional[Path] = None, **more: Any
    ) -> None:
        work_dir.mkdir(parents=True, exist_ok=True)
        assignment = {
            "protocol": 1,
            "job_id": "job_1",
            "attempt": 1,
            "work_dir": str(work_dir),
            "spec": resolve("ExperimentSpec", spec),
            "checkpoint": None if checkpoint is None else str(checkpoint),
            "start_seconds": time.monotonic() - self.started,
            **more,
        }
        self.write_line(json.dumps(assignment).encode())

    def write_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def until(self, condition: Callable[[Event], bool]) -> Event:
        """Reads events up to the wanted one; fails at the end of the pipe."""
        while True:
            event = self._next()
            assert event is not None, f"the runner ended: {self.events[-3:]}\n{self.printed()}"
            if condition(event):
                return event

    def until_kind(self, kind: str) -> Event:
        return self.until(lambda event: bool(event["kind"] == kind))

    def finish(self) -> int:
        """Reads to the end of the pipe; the exit code."""
        while self._next() is not None:
            continue
        return self.process.wait(timeout=SECONDS)

    def kinds(self, *names: str) -> List[Event]:
        return [event for event in self.events if event["kind"] in names]

    def printed(self) -> str:
        return self.log.read_text()

    def stop_listening(self) -> None:
        os.close(self._reader)
        self._reader = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=SECONDS)
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # a line that a dead runner did not read
            self.process.stdin.close()
        if self._reader >= 0:
            self.stop_listening()

    def _next(self) -> Optional[Event]:
        deadline = time.monotonic() + SECONDS
        while b"\n" not in self._unread:
            left = max(0.0, deadline - time.monotonic())
            readable, _, _ = select.select([self._reader], [], [], left)
            assert readable, f"silence for {SECONDS} s\n{self.printed()}"
            data = os.read(self._reader, 65536)
            if not data:
                assert not self._unread, f"half a line at the end: {self._unread!r}"
                return None
            self._unread += data
        line, self._unread = self._unread.split(b"\n", 1)
        event: Event = json.loads(line)
        self.events.append(event)
        return event
