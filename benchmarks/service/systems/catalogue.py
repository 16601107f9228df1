"""The measured systems by name, and what each needs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.service.programs import all_cpus
from benchmarks.service.systems.celery import CelerySystem
from benchmarks.service.systems.ipulse import IpulseSystem
from benchmarks.service.systems.system import System
from ipulse_service.selftest.postgresql import programs
from tests.service.postgresql_server import PostgreSQLServer


@contextlib.contextmanager
def running(name: str, home: Path) -> Iterator[System]:
    """Run a system with empty data. Raises MissingDependency if it cannot run here."""
    with contextlib.ExitStack() as closing:
        system = SYSTEMS[name](home, closing)
        yield closing.enter_context(system)


def _postgresql(home: Path, closing: contextlib.ExitStack) -> System:
    server = PostgreSQLServer(programs(), is_durable=True)
    with all_cpus():
        closing.enter_context(server)
    return IpulseSystem(home, server.new_database())


SYSTEMS: dict[str, Callable[[Path, contextlib.ExitStack], System]] = {
    "sqlite": lambda home, _: IpulseSystem(home),
    "postgresql": _postgresql,
    "celery": lambda home, _: CelerySystem(home),
    "celery_durable": lambda home, _: CelerySystem(home, durable=True),
}
