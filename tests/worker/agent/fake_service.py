"""The internal worker API over real HTTP, as strict as the service and with faults to order.

It keeps every rule that an agent can break: tokens, fences, leases, gaps in event numbers,
illegal phases, digests, the manifest last, a complete result before `completed`. A test asks
what it holds through `job`, and waits for it with `wait_for`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import secrets
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ipulse import strict_json
from ipulse.errors import IllegalTransition, InvalidInput
from ipulse.events import (
    CheckpointEvent,
    Event,
    LogEvent,
    MetricEvent,
    PhaseEvent,
    event_to_json,
)
from ipulse.log_lines import LogLines
from ipulse.parsing import parse_type
from ipulse.states import (
    INFRASTRUCTURE,
    OUTCOMES,
    STATE_OF_PHASE,
    JobState,
    Phase,
    Reason,
    check_transition,
)

DEADLINE = 60.0  # seconds until a test that waits for an event is given up
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass
class Artifact:
    name: str
    role: str
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass
class Attempt:
    id: str
    fence: str
    agent: str
    expires: float  # on the monotonic clock
    events: list[dict[str, Any]] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    verdict: dict[str, Any] | None = None

    def artifact(self, role: str) -> Artifact:
        return next(artifact for artifact in self.artifacts if artifact.role == role)

    def messages(self, stream: str | None = None) -> list[str]:
        """What was logged."""
        return [
            event["message"]
            for event in self.events
            if event["kind"] == "log" and stream in (None, event["stream"])
        ]

    def said(self, text: str) -> bool:
        return any(text in message for message in self.messages())


@dataclass
class Job:
    id: str
    spec: dict[str, Any]
    state: JobState = JobState.QUEUED
    attempts: list[Attempt] = field(default_factory=list)
    checkpoint: Artifact | None = None

    @property
    def last(self) -> Attempt:
        return self.attempts[-1]

    @property
    def verdict(self) -> dict[str, Any]:
        assert self.last.verdict is not None
        return self.last.verdict


class Refusal(Exception):
    def __init__(self, status: int, code: str, detail: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail or code


# What a fault does to a request: answer with this status, or say nothing and hang up.
HANG_UP = 0
Fault = Callable[[str, str], int | None]


class FakeService:
    """Listens while its context is open."""

    def __init__(
        self, token_file: Path, lease_seconds: float = 15.0, heartbeat_seconds: float = 0.1
    ) -> None:
        self.token_file = token_file
        self.token = secrets.token_urlsafe(32)
        token_file.write_text(self.token + "\n")
        self.lease_seconds = lease_seconds
        self.heartbeat_seconds = heartbeat_seconds
        self.jobs: dict[str, Job] = {}
        self.requests: list[tuple[str, str]] = []  # method and path of each, in order
        self.faults: list[Fault] = []
        self.answers_to_lose: list[str] = []
        self.changed = threading.Condition()
        self._numbers = itertools.count(1)
        self.is_down = False
        self.refuse_manifests = False
        self._server: ThreadingHTTPServer | None = None

    # ---- what tests do

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def submit(self, behaviour: str, **options: Any) -> str:
        """Queues a job whose runner will do what tests/worker/agent/runners/scripted.py says."""
        job_id = f"job_{next(self._numbers)}"
        spec = {
            "version": 1,
            "network": {"layers": [{"neurons": 4}]},
            "metadata": {"behaviour": behaviour, **options},
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

    def expire(self, job_id: str) -> None:
        """The lease runs out now and the job goes back to the queue, as the reaper does it."""
        with self.changed:
            self.jobs[job_id].last.expires = 0.0
            self.jobs[job_id].state = JobState.QUEUED

    def wait_for(self, holds: Callable[[], Any]) -> None:
        """Waits until something that a request changed makes it hold."""
        with self.changed:
            assert self.changed.wait_for(lambda: bool(holds()), DEADLINE), "it did not happen"

    def fail(self, matching: str, status: int, times: int = 1) -> None:
        """The next requests whose path matches go wrong."""
        left = iter(range(times))

        def fault(method: str, path: str) -> int | None:
            if re.search(matching, path) and next(left, None) is not None:
                return status
            return None

        self.faults.append(fault)

    def lose_answer(self, matching: str) -> None:
        """The next request whose path matches is obeyed, but its answer never arrives."""
        self.answers_to_lose.append(matching)

    # ---- the server

    def __enter__(self) -> FakeService:
        self.listen(0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.hang_up()

    def listen(self, port: int) -> None:
        class Handler(_Handler):
            service = self

        self.is_down = False
        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def hang_up(self) -> int:
        """Stops listening, and returns the port so that `listen` can go on there."""
        assert self._server is not None
        port = self._server.server_address[1]
        with self.changed:
            self.is_down = True  # for the connections that are open still
            self.changed.notify_all()  # and for the answers that are held back
        self._server.shutdown()
        self._server.server_close()
        return int(port)

    # ---- the rules

    def claim(self, body: dict[str, Any]) -> dict[str, Any]:
        job = self.jobs.get(body["job_id"])
        if job is None:
            raise Refusal(404, "not_found")
        if job.state is not JobState.QUEUED or "cpu" not in body["device_kinds"]:
            raise Refusal(409, "not_claimable")
        self._move(job, JobState.PREPARING)
        number = len(job.attempts) + 1
        attempt = Attempt(
            id=f"att_{job.id}_{number}",
            fence=f"fence-{job.id}-{number}",
            agent=body["agent"],
            expires=time.monotonic() + self.lease_seconds,
        )
        job.attempts.append(attempt)
        return {
            "job_id": job.id,
            "attempt_id": attempt.id,
            "attempt": number,
            "fence": attempt.fence,
            "lease_seconds": self.lease_seconds,
            "heartbeat_seconds": self.heartbeat_seconds,
            "spec": job.spec,
            "checkpoint": job.checkpoint
            and {
                "artifact_id": "art_checkpoint",
                "sha256": job.checkpoint.sha256,
                "size": len(job.checkpoint.content),
                "name": job.checkpoint.name,
            },
        }

    def heartbeat(self, job: Job, attempt: Attempt) -> dict[str, Any]:
        attempt.expires = time.monotonic() + self.lease_seconds
        return {
            "cancel": job.state is JobState.CANCELLING,
            "lease_seconds": self.lease_seconds,
        }

    def is_to_stop(self, attempt_id: str, fence: str) -> bool:
        """Once the job is to stop; raises Refusal once the attempt does not hold it any more."""
        while True:
            job, _ = self.held(attempt_id, fence)
            if job.state is JobState.CANCELLING or self.is_down:
                return job.state is JobState.CANCELLING
            self.changed.wait(DEADLINE)

    def record(self, job: Job, attempt: Attempt, body: dict[str, Any]) -> dict[str, Any]:
        expected = len(attempt.events) + 1
        if body["first"] > expected:
            raise Refusal(409, "sequence_gap", f"event {expected} is expected next")
        try:
            told = [parse_type(Event | LogLines, value) for value in body["events"]]
        except InvalidInput as error:
            raise Refusal(422, "invalid_input", str(error)) from error
        for event in list(_one_by_one(told))[expected - body["first"] :]:
            if not isinstance(event, (PhaseEvent, MetricEvent, LogEvent, CheckpointEvent)):
                raise Refusal(422, "invalid_input", f"{event.kind} is not for the service")
            if isinstance(event, PhaseEvent) and job.state is not JobState.CANCELLING:
                state = STATE_OF_PHASE[Phase(event.phase)]
                if state is not job.state:
                    self._move(job, state)
            attempt.events.append(event_to_json(event))
        return {"next": len(attempt.events) + 1}

    def store(self, attempt: Attempt, name: str, query: dict[str, str], content: bytes) -> None:
        artifact = Artifact(name, query["role"], content)
        if not NAME.fullmatch(name):
            raise Refusal(422, "invalid_input", "name")
        if int(query["size"]) != len(content) or query["sha256"] != artifact.sha256:
            raise Refusal(422, "wrong_content")
        if any(other.role == "manifest" for other in attempt.artifacts):
            raise Refusal(409, "conflict", "the manifest comes last")
        if artifact.role == "checkpoint":
            others = [other for other in attempt.artifacts if other.role != "checkpoint"]
            attempt.artifacts[:] = others
        attempt.artifacts.append(artifact)

    def finish(self, job: Job, attempt: Attempt, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("events"):
            self.record(job, attempt, body)
        if manifest := body.get("manifest"):
            if self.refuse_manifests:
                raise Refusal(503, "artifact_store", "the disk is full")
            content = b64decode(manifest["base64"], validate=True)
            query = {"role": "manifest", "size": str(len(content)), "sha256": manifest["sha256"]}
            self.store(attempt, manifest["name"], query, content)
        reason = Reason(body["reason"])
        is_complete = any(artifact.role == "manifest" for artifact in attempt.artifacts)
        if reason is Reason.COMPLETED and not is_complete:
            raise Refusal(409, "incomplete")
        attempt.verdict = _verdict(body)
        if job.state is JobState.CANCELLING and reason is not Reason.COMPLETED:
            self._move(job, JobState.CANCELLED)
        elif reason in INFRASTRUCTURE:
            self._move(job, JobState.RETRY_WAIT)
            checkpoints = [one for one in attempt.artifacts if one.role == "checkpoint"]
            job.checkpoint = checkpoints[-1] if checkpoints else job.checkpoint
            self._move(job, JobState.QUEUED)
        else:
            self._move(job, OUTCOMES[reason])
        return {"object": "job", "id": job.id, "state": job.state.value}

    def held(self, attempt_id: str, fence: str) -> tuple[Job, Attempt]:
        for job in self.jobs.values():
            for attempt in job.attempts:
                if attempt.id == attempt_id:
                    stale = (
                        attempt.fence != fence
                        or attempt.verdict is not None
                        or attempt is not job.last
                        or attempt.expires < time.monotonic()
                    )
                    if stale:
                        raise Refusal(409, "stale_token")
                    return job, attempt
        raise Refusal(404, "not_found")

    def finished(self, attempt_id: str, fence: str, body: dict[str, Any]) -> Job | None:
        """The job if this very verdict is already there: then it may be said again."""
        for job in self.jobs.values():
            for attempt in job.attempts:
                this = (attempt_id, fence, _verdict(body))
                if (attempt.id, attempt.fence, attempt.verdict) == this:
                    return job
        return None

    def _move(self, job: Job, state: JobState) -> None:
        try:
            check_transition(job.state, state)
        except IllegalTransition as error:
            raise Refusal(409, "illegal_transition", error.message) from error
        job.state = state


def _verdict(body: dict[str, Any]) -> dict[str, Any]:
    """What is said of an end, without the events that came along."""
    return {name: body[name] for name in ("reason", "message", "summary")}


class _Handler(BaseHTTPRequestHandler):
    service: FakeService
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    _applied = ""  # the preference that the present answer honoured

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        service = self.service
        self._applied = ""
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        path = urlsplit(self.path).path
        with service.changed:
            if path != "/v1/worker/agents":  # said now and then, whatever a test is about
                service.requests.append((self.command, path))
            faults = (fault(self.command, path) for fault in service.faults)
            fault = next((status for status in faults if status is not None), None)
            service.changed.notify_all()
        if fault == HANG_UP or service.is_down:
            self.close_connection = True
            return
        try:
            if fault is not None:
                raise Refusal(fault, "ordered", "a fault that the test ordered")
            with service.changed:
                answer = self._route(path, content)
                service.changed.notify_all()
        except Refusal as refusal:
            problem = {"code": refusal.code, "detail": refusal.detail, "status": refusal.status}
            self._send(refusal.status, json.dumps(problem).encode(), "application/problem+json")
        else:
            lost = next((one for one in service.answers_to_lose if re.search(one, path)), None)
            if lost is not None:
                service.answers_to_lose.remove(lost)
                self.close_connection = True
                return
            self._send(200, answer, "application/json")

    def _route(self, path: str, content: bytes) -> bytes:
        service = self.service
        if self.headers.get("Authorization") != f"Bearer {service.token}":
            raise Refusal(401, "not_authenticated")
        if path == "/v1/worker/agents":
            return b"{}"
        if path == "/v1/worker/claims":
            return _json(service.claim(strict_json.loads(content)))
        if match := re.fullmatch(r"/v1/jobs/([^/]+)/artifacts/art_checkpoint/content", path):
            checkpoint = service.job(match[1]).checkpoint
            if checkpoint is None:
                raise Refusal(404, "not_found")
            return checkpoint.content
        fence = self.headers.get("IPUlse-Fence", "")
        if match := re.fullmatch(r"/v1/worker/attempts/([^/]+)", path):
            self._applied = self.headers.get("Prefer", "")
            return _json({"cancel": service.is_to_stop(match[1], fence)})
        match = re.fullmatch(r"/v1/worker/attempts/([^/]+)/(.+)", path)
        if match is None:
            raise Refusal(404, "not_found")
        body = strict_json.loads(content) if self.command == "POST" else {}
        if match[2] == "finish":
            job = service.finished(match[1], fence, body)
            if job:
                return _json({"object": "job", "id": job.id})
        held, attempt = service.held(match[1], fence)
        if match[2] == "heartbeat":
            return _json(service.heartbeat(held, attempt))
        if match[2] == "events":
            return _json(service.record(held, attempt, body))
        if match[2] == "finish":
            return _json(service.finish(held, attempt, body))
        if self.command == "PUT" and match[2].startswith("artifacts/"):
            query = {name: found[0] for name, found in parse_qs(urlsplit(self.path).query).items()}
            service.store(attempt, match[2].removeprefix("artifacts/"), query, content)
            return _json({"artifact_id": "art_1"})
        raise Refusal(404, "not_found")

    def _send(self, status: int, content: bytes, media_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        if self._applied:
            self.send_header("Preference-Applied", self._applied)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: the tests ask `requests`."""


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _one_by_one(events: list[Any]) -> Iterator[Any]:
    for event in events:
        if isinstance(event, LogLines):
            yield from (LogEvent(text, event.level, event.stream) for text in event.messages)
        else:
            yield event
