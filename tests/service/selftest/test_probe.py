"""The probe of the fault suite finds a service that answers those without rights."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ipulse_service.selftest.probe import REFUSED, Probe
from tests.service.conditions import eventually


class Leaky(BaseHTTPRequestHandler):
    """Lists a job to everybody, and lets everybody cancel it."""

    def do_GET(self) -> None:
        self._answer(200, {"jobs": [{"id": "job_1"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self._answer(201 if self.path == "/v1/tokens" else 200, {"token": "of-somebody"})

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""

    def _answer(self, status: int, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def leaky() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Leaky) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_it_finds_what_should_have_been_refused(leaky: str, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("of-the-owner")
    with Probe(leaky, token) as probe:
        eventually(lambda: len(probe.broken) == len(REFUSED) + 1)
    assert any("may see none" in found for found in probe.broken)
