"""The HTTP side of the fake service: tokens, routes and requested faults."""

from __future__ import annotations

import json
import re
import secrets
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from ipulse_core import strict_json
from ipulse_core.states import JobState

from .fake_jobs import Refusal

if TYPE_CHECKING:
    from .fake_service import FakeService

HANG_UP = 0  # a fault: say nothing and hang up


class FakeHandler(BaseHTTPRequestHandler):
    """Handles one connection of an agent."""

    service: FakeService
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    _applied = ""  # the preference that the present answer honoured
    _etag = ""  # of the present answer

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        service = self.service
        self._applied = self._etag = ""
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        path = urlsplit(self.path).path
        with service.changed:
            if path not in (
                "/v1/worker/agents",
                "/v1/worker/sign-off",
            ):  # said now and then, whatever a test is about
                service.requests.append((self.command, path))
            faults = (fault(self.command, path) for fault in service.faults)
            fault = next((status for status in faults if status is not None), None)
            service.changed.notify_all()
        if fault == HANG_UP or service.is_down:
            self.close_connection = True
            return
        try:
            if fault is not None:
                raise Refusal(fault, service.fault_code, "a fault that the test ordered")
            with service.changed:
                answer = self._route(path, content)
                service.changed.notify_all()
        except Refusal as refusal:
            problem = {"code": refusal.code, "detail": refusal.detail, "status": refusal.status}
            self._send(refusal.status, json.dumps(problem).encode(), "application/problem+json")
        else:
            lost = next(
                (pattern for pattern in service.answers_to_lose if re.search(pattern, path)), None
            )
            if lost is not None:
                service.answers_to_lose.remove(lost)
                self.close_connection = True
                return
            self._send(200 if answer else 304, answer, "application/json")

    def _route(self, path: str, content: bytes) -> bytes:
        service = self.service
        sent = self.headers.get("Authorization")
        if sent == f"Bearer {service.expired_token}" and path != "/v1/worker/token":
            raise Refusal(401, "token_expired")
        if sent not in (f"Bearer {service.token}", f"Bearer {service.expired_token}"):
            raise Refusal(401, "not_authenticated")
        if path == "/v1/worker/agents":
            service.registrations.append(strict_json.loads(content))
            return _json(service.orders)
        if path == "/v1/worker/sign-off":
            service.sign_offs.append(strict_json.loads(content)["agent"])
            return _json({})
        if path == "/v1/worker/token":
            service.orders, service.expired_token = {}, ""
            service.token = secrets.token_urlsafe(32)  # the former one ends at once here
            return _json({"token": service.token})
        if path == "/v1/worker/wakeups":
            return self._hint()
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
            return _json(service.orders_of(match[1], fence))
        match = re.fullmatch(r"/v1/worker/attempts/([^/]+)/(.+)", path)
        if match is None:
            raise Refusal(404, "not_found")
        if match[2] == "start-file":
            started, _ = service.held(match[1], fence)
            if started.start_from is None:
                raise Refusal(404, "not_found")
            return started.start_from.content
        if match[2].startswith("ops/"):
            job, _ = service.held(match[1], fence)
            for op in job.ops:
                if op.sha256 == match[2].partition("/")[2]:
                    return op.content
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
            query = {
                name: actual[0] for name, actual in parse_qs(urlsplit(self.path).query).items()
            }
            stored = service.store(attempt, match[2].removeprefix("artifacts/"), query, content)
            return _json({"artifact_id": "art_1", "sha256": stored.sha256})
        raise Refusal(404, "not_found")

    def _hint(self) -> bytes:
        """Answer at once, unlike the service; with 304 if the first queued job is known."""
        self.service.waits.append(self.headers["Prefer"])
        queued = [job.id for job in self.service.jobs.values() if job.state is JobState.QUEUED]
        self._etag = f'"{queued[0] if queued else ""}"'
        if self.headers.get("If-None-Match") == self._etag:
            return b""
        return _json({"job_id": queued[0] if queued else None, "draining": False})

    def _send(self, status: int, content: bytes, media_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        if self._etag:
            self.send_header("ETag", self._etag)
        if self._applied:
            self.send_header("Preference-Applied", self._applied)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: tests read `requests`."""


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
