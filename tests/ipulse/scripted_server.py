"""An HTTP server on loopback with scripted responses, including invalid ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Request:
    method: str
    path: str  # with its query
    headers: dict[str, str]  # names in small letters
    body: bytes


@dataclass(frozen=True)
class Answer:
    """A response; `announced` is a wrong Content-Length."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    announced: int | None = None


def json_answer(value: Any, status: int = 200, **headers: str) -> Answer:
    named = {"Content-Type": "application/json"}
    named.update({name.replace("_", "-"): text for name, text in headers.items()})
    return Answer(status, json.dumps(value).encode(), named)


def problem_answer(status: int, code: str, detail: str = "no", **extra: Any) -> Answer:
    value = {"type": f"urn:ipulse:problem:{code}", "title": "t", "status": status}
    value.update({"detail": detail, "code": code, "request_id": "r1", "errors": [], **extra})
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/problem+json"})


class ScriptedServer:
    """Calls `answer` for each request, in the order they come; keeps them in `requests`."""

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self.requests: list[Request] = []
        self._answer = answer
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("content-length", 0))
                request = Request(
                    method=self.command,
                    path=self.path,
                    headers={name.lower(): value for name, value in self.headers.items()},
                    body=self.rfile.read(length),
                )
                outer.requests.append(request)
                answer = outer._answer(request)
                self.send_response(answer.status)
                length = len(answer.body) if answer.announced is None else answer.announced
                self.send_header("Content-Length", str(length))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)
                self.close_connection = True

            do_POST = do_GET

            def log_message(self, *arguments: Any) -> None:
                """The test says what it saw."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def in_turn(*answers: Answer) -> Any:
    """Answer requests one after the other; the last answer is repeated."""
    waiting = list(answers)
    return lambda request: waiting.pop(0) if len(waiting) > 1 else waiting[0]


@contextmanager
def discarding_server(answer: Answer) -> Iterator[str]:
    """The URL of a server that reads the body of a POST in parts and keeps none."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            left = int(self.headers["content-length"])
            while left:
                left -= len(self.rfile.read(min(left, 2**16)))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *arguments: Any) -> None:
            """The test says what it saw."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
