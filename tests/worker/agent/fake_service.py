"""A fake service with the worker API over real HTTP, strict checks and faults on request.

It keeps every rule that an agent can break (`FakeRules`). A test asks what it holds through
`job`, and waits for it with `wait_for`.
"""

from __future__ import annotations

import itertools
import re
import secrets
import socket
import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from ipulse_core.states import JobState

from .fake_handler import FakeHandler
from .fake_jobs import Job
from .fake_rules import DEADLINE, FakeRules

# A fault of a request: a response with this status, or HANG_UP.
Fault = Callable[[str, str], int | None]


class SharingServer(ThreadingHTTPServer):
    """A server at a port that a socket of this process is bound to, too."""

    daemon_threads = True

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        super().server_bind()


class FakeService(FakeRules):
    """A server that listens while its context is open."""

    def __init__(
        self, token_file: Path, lease_seconds: float = 15.0, heartbeat_seconds: float = 0.1
    ) -> None:
        super().__init__(lease_seconds, heartbeat_seconds)
        self.token_file = token_file
        self.token = secrets.token_urlsafe(32)
        token_file.write_text(self.token + "\n")
        self.expired_token = ""  # it opens its renewal only
        self.requests: list[tuple[str, str]] = []  # method and path of each, in order
        self.registrations: list[dict[str, Any]] = []  # their bodies
        self.sign_offs: list[str] = []  # names of agents
        self.waits: list[str] = []  # what requests for wake-ups preferred
        self.orders: dict[str, bool] = {}  # answered to registrations
        self.faults: list[Fault] = []
        self.fault_code = "ordered"  # in the problem documents of all faults
        self.answers_to_lose: list[str] = []
        self._numbers = itertools.count(1)
        self._server: ThreadingHTTPServer | None = None
        self._port = socket.socket()  # keeps the port from other programs while nothing listens
        self._port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._port.bind(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._port.getsockname()
        self.url = "http://{}:{}".format(*self.address)

    def submit(self, behaviour: str, **options: Any) -> str:
        """Queue a job for a behaviour of tests/worker/agent/runners/scripted.py."""
        job_id = f"job_{next(self._numbers)}"
        spec = {
            "version": 1,
            "network": {"layers": [{"neurons": 4}]},
            "device": {"kind": "cpu"},
            "metadata": {"behaviour": behaviour, **{k: str(v) for k, v in options.items()}},
        }
        with self.changed:
            self.jobs[job_id] = Job(job_id, spec)
        return job_id

    def job(self, job_id: str) -> Job:
        return self.jobs[job_id]

    def cancel(self, job_id: str) -> None:
        with self.changed:
            self._move(self.jobs[job_id], JobState.CANCELLING)
            self.changed.notify_all()

    def finish_now(self, job_id: str) -> None:
        with self.changed:
            self.jobs[job_id].is_finishing = True
            self.changed.notify_all()

    def expire(self, job_id: str) -> None:
        """Queue the job again, as after a lost lease, and let the next attempt have it."""
        with self.changed:
            self.jobs[job_id].last.is_superseded = True
            self.jobs[job_id].state = JobState.QUEUED

    def wait_for(self, holds: Callable[[], Any]) -> None:
        """Wait until a request makes the condition true."""
        with self.changed:
            assert self.changed.wait_for(lambda: bool(holds()), DEADLINE), "it did not happen"

    def fail(self, matching: str, status: int, times: int = 1) -> None:
        """Let the next requests with a matching path fail."""
        left = iter(range(times))

        def fault(method: str, path: str) -> int | None:
            if re.search(matching, path) and next(left, None) is not None:
                return status
            return None

        self.faults.append(fault)

    def lose_answer(self, matching: str) -> None:
        """Process the next request with a matching path, but lose its response."""
        self.answers_to_lose.append(matching)

    def __enter__(self) -> FakeService:
        self.listen()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.hang_up()
        self._port.close()

    def listen(self) -> None:
        class Handler(FakeHandler):
            service = self

        self.is_down = False
        self._server = SharingServer(self.address, Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def hang_up(self) -> None:
        """Stop listening, if it does."""
        if self._server is None:
            return
        with self.changed:
            self.is_down = True  # for the connections that are open still
            self.changed.notify_all()  # and for the answers that are held back
        self._server.shutdown()
        self._server.server_close()
        self._server = None
