"""The measured systems by name, and what each needs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.common.environments import MissingEnvironment, python_of
from benchmarks.service.isolation import is_isolated
from benchmarks.service.programs import all_cpus
from benchmarks.service.systems.celery import CelerySystem
from benchmarks.service.systems.ipulse import IpulseSystem
from benchmarks.service.systems.ray import RaySystem
from benchmarks.service.systems.system import System
from ipulse_core.errors import MissingDependency
from ipulse_service.selftest.postgresql import programs
from tests.service.postgresql_server import PostgreSQLServer

REQUIREMENTS = Path(__file__).parent


class MissingSystem(RuntimeError):
    """A system cannot run on this machine; the message says why."""


@contextlib.contextmanager
def running(name: str, home: Path) -> Iterator[System]:
    """Run a system with empty data. Raises MissingSystem."""
    with contextlib.ExitStack() as closing:
        system = SYSTEMS[name](home, closing)
        yield closing.enter_context(system)


def install(name: str) -> Path:
    """Return the Python of a peer's own environment. Raises MissingSystem."""
    try:
        return python_of(name, REQUIREMENTS)
    except MissingEnvironment as error:
        raise MissingSystem(str(error)) from error


def _ray(home: Path, _: contextlib.ExitStack) -> System:
    if not is_isolated():
        raise MissingSystem("it would answer other machines: run as root, with unshare on PATH")
    return RaySystem(home, install("ray"))


def _postgresql(home: Path, closing: contextlib.ExitStack) -> System:
    try:
        folder = programs()
    except MissingDependency as error:
        raise MissingSystem(str(error)) from error
    server = PostgreSQLServer(folder, is_durable=True)
    with all_cpus():
        closing.enter_context(server)
    return IpulseSystem(home, server.new_database())


SYSTEMS: dict[str, Callable[[Path, contextlib.ExitStack], System]] = {
    "sqlite": lambda home, _: IpulseSystem(home),
    "postgresql": _postgresql,
    "celery": lambda home, _: CelerySystem(home),
    "celery_durable": lambda home, _: CelerySystem(home, durable=True),
    "ray": _ray,
}
