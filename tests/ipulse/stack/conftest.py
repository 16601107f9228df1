"""A guarded process that sleeps."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipulse.client import Connection
from ipulse.stack.guarded_process import GuardedProcess
from ipulse.stack.stack import Stack
from ipulse.stack.tls import self_signed
from tests.ipulse.stack.stack_jobs import ENVIRONMENT

from .guarded import line_of, start


@pytest.fixture
def sleeper() -> Iterator[GuardedProcess]:
    with start("import time; print('up', flush=True); time.sleep(600)") as process:
        line_of(process)
        yield process


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A service with TLS and without agents of its own."""
    made = self_signed(tmp_path_factory.mktemp("made"))
    home = tmp_path_factory.mktemp("home")
    with Stack(home, agents=0, environment=ENVIRONMENT, certificate=made) as running:
        yield running


@pytest.fixture
def client(stack: Stack) -> Iterator[Connection]:
    with Connection(home=stack.home) as client:
        yield client


@pytest.fixture
def short_directory() -> Iterator[Path]:
    """A short directory, because those of the tests may be too long for a socket."""
    with tempfile.TemporaryDirectory(prefix="ipulse-redis-") as directory:
        yield Path(directory)
