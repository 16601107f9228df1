"""The command line as people have it: a program with arguments, two streams and an exit code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ipulse.cli import main
from ipulse.client import Connection
from tests.ipulse.live_service import ROOT, Agent, LiveService

SPEC: dict[str, Any] = {"version": 1, "name": "small", "network": {"layers": [{"neurons": 8}]}}
FILES = {
    "manifest.json": b"{}",
    "profile.json": b'{"schema": "a"}',
    "report.html": b"<html></html>",
}


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON value and nothing else."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output, of which every line must be a JSON value."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80", **more}


def started(*arguments: str, **more: Any) -> subprocess.Popen[str]:
    """Start a command that runs while the test continues."""
    env = environment(**more)
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", "ipulse", *arguments], stdout=pipe, stderr=pipe, text=True, env=env
    )


def finished(*arguments: str, stdin: str = "", **more: str) -> Ran:
    """A command in a process of its own, to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "ipulse", *arguments],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env=environment(**more),
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


Run = Callable[..., Ran]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process, which is quicker, with streams that are not a terminal."""

    def run(*arguments: str, stdin: str = "", **more: str) -> Ran:
        with monkeypatch.context() as patch:
            for name, value in more.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            capsys.readouterr()
            code = main(list(arguments))
            output = capsys.readouterr()
        assert "Traceback" not in output.err
        return Ran(code, output.out, output.err)

    return run


@pytest.fixture
def run(service: LiveService, offline: Run) -> Run:
    """Runs a command, in this process, against the real service."""
    return lambda *arguments, **more: offline(
        *arguments, **{"IPULSE_HOME": str(service.home), **more}
    )


@pytest.fixture
def client(service: LiveService) -> Iterator[Connection]:
    with Connection(service.url, service.token) as made:
        yield made


@pytest.fixture
def agent(service: LiveService) -> Iterator[Agent]:
    made = service.agent()
    yield made
    made.close()


@pytest.fixture
def spec_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text("version: 1\nname: small\nnetwork: {layers: [{neurons: 8}]}\n")
    return path
