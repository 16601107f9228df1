"""A job of the real service, and the command line that exports it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ipulse.cli import main
from ipulse.client import Connection, JobHandle
from tests.ipulse.client.conftest import agent, connection, ended

__all__ = ["agent", "connection", "ended"]

# Names and notes as an attacker, or a mathematician, may choose them.
HOSTILE = '<script>alert(1)</script> ../../x, "=1+1" \U0001f600'

Export = Callable[..., int]


@pytest.fixture
def job(ended: Any) -> JobHandle:
    made: JobHandle = ended(tags=["baseline", "b"], notes=HOSTILE)
    return made.edit(name=HOSTILE)


@pytest.fixture
def export(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> Export:
    """Runs `ipulse export`, or another command, against the service of the tests."""
    monkeypatch.setenv("IPULSE_URL", connection.url)
    monkeypatch.setenv("IPULSE_TOKEN_FILE", str(connection._arguments["token_file"]))

    def run(target: str, *words: str, command: Sequence[str] = ("export",)) -> int:
        return main([*command, target, *words])

    return run
