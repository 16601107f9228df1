"""An upload goes on when the service refuses connections for a while, wherever it was."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest

from ipulse.client import Connection
from ipulse_core.errors import Unavailable

ID = "upl_1a2b3c4d5e6f708192a3b4c5"
CONTENT = bytes(3 * 2**20)
VERSION = {
    "dataset": "mine",
    "version": 1,
    "reference": "mine@1",
    "sha256": "0" * 64,
    "size": len(CONTENT),
    "state": "ready",
    "kind": "npz",
    "refusal": None,
    "facts": None,
    "previews": [],
    "jobs": 0,
    "created_at": "2026-01-31T12:00:00.000Z",
}


class RefusingService:
    """A service that takes a part of the bytes, and refuses connections at a call, for a while."""

    def __init__(self, call: str, refusals: int) -> None:
        self.offset = 0
        self.waited = 0.0
        self._call = call
        self._refusals = refusals

    def request(
        self, method: str, path: str, content: Iterable[bytes] = (), **_: Any
    ) -> httpx.Response:
        """Answer a call, or take bytes."""
        if method == "PATCH":
            return self._take(content)
        self._refuse(method)
        if path.endswith("/versions"):
            return self._answer(VERSION)
        complete = self.offset == len(CONTENT)
        size = len(CONTENT)
        return self._answer({"id": ID, "size": size, "offset": self.offset, "complete": complete})

    def _take(self, chunks: Iterable[bytes]) -> httpx.Response:
        """Take bytes; those of the first request arrive in part."""
        is_first = not self.offset
        for chunk in chunks:
            self.offset += len(chunk)
            if is_first:
                raise httpx.WriteError("cut")
            self._refuse("PATCH")
        return self._answer({})

    def sleep(self, seconds: float) -> None:
        """Wait for no time."""
        self.waited += seconds

    def close(self) -> None:
        """Do nothing."""

    def _refuse(self, method: str) -> None:
        if self.offset and method == self._call and self._refusals:
            self._refusals -= 1
            raise httpx.ConnectError("refused")

    def _answer(self, value: Any) -> httpx.Response:
        return httpx.Response(200, content=json.dumps(value).encode())


@pytest.mark.parametrize("call", ["GET", "PATCH", "POST"])
def test_an_outage_during_an_upload_is_waited_for(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.npz"
    path.write_bytes(CONTENT)
    service = RefusingService(call, refusals=1 if call == "PATCH" else 10)
    client = Connection("http://127.0.0.1:1", "t", timeout=5.0, retries=4)
    monkeypatch.setattr(client, "_transport", service)
    version = client.push_dataset(path, "mine")
    assert (version.reference, service.offset >= len(CONTENT)) == ("mine@1", True)
    assert service.waited > (0 if call == "PATCH" else 15)


def test_a_service_that_stays_away_ends_the_upload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.npz"
    path.write_bytes(CONTENT)
    service = RefusingService("GET", refusals=10_000)
    client = Connection("http://127.0.0.1:1", "t", timeout=5.0, retries=4)
    monkeypatch.setattr(client, "_transport", service)
    with pytest.raises(Unavailable):
        client.push_dataset(path, "mine")
    assert service.waited < 120
