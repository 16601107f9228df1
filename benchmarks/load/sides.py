"""The sides by name, and what each needs to be there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.load.ipulse_side import IpulseSide
from benchmarks.load.isolation import is_isolated
from benchmarks.load.mlflow_side import MLflowSide
from benchmarks.load.prefect_side import PrefectSide
from benchmarks.load.processors import all_of_them
from benchmarks.load.ray_side import RaySide
from benchmarks.load.restartable_side import RestartableSide
from benchmarks.load.shim_side import DurableCelery, HueyShim, ProcrastinateShim, ShimSide
from benchmarks.load.side import Side
from benchmarks.peers.environments import MissingEnvironment, python_of
from ipulse_core.errors import MissingDependency
from ipulse_service.selftest.postgresql import programs
from tests.service.postgresql_server import PostgreSQLServer

OURS = ("sqlite", "postgresql")
REQUIREMENTS = Path(__file__).resolve().parent
# Side -> its environment, one of requirements-*.txt here; the others run in the project's own.
ENVIRONMENTS = {
    "huey": "queues",
    "procrastinate": "queues",
    "ray": "ray",
    "prefect": "prefect",
    "mlflow": "mlflow",
}


class Missing(RuntimeError):
    """A side cannot run here, and why."""


def python_for(kind: str) -> Path:
    """Of a side's own environment, which is made if it is not there. Raises Missing."""
    try:
        return python_of(ENVIRONMENTS[kind], REQUIREMENTS)
    except MissingEnvironment as error:
        raise Missing(str(error)) from error


@contextlib.contextmanager
def opened(kind: str, home: Path, is_whole: bool = False) -> Iterator[Side]:
    """A side that runs, with nothing in it; whole with its worker, where that can wait for the
    service. Raises Missing."""
    with contextlib.ExitStack() as closing:
        side = _SIDES[kind](home, closing)
        side.runs_jobs = kind in RUNNING
        side.is_whole = is_whole and isinstance(side, RestartableSide)
        yield closing.enter_context(side)


def _celery(home: Path, _: contextlib.ExitStack) -> Side:
    return ShimSide(home)


def _durable_celery(home: Path, _: contextlib.ExitStack) -> Side:
    return DurableCelery(home)


def _huey(home: Path, _: contextlib.ExitStack) -> Side:
    return HueyShim(home, python_for("huey"))


def _procrastinate(home: Path, closing: contextlib.ExitStack) -> Side:
    return ProcrastinateShim(home, python_for("procrastinate"), _database(closing))


def _ray(home: Path, _: contextlib.ExitStack) -> Side:
    if not is_isolated():
        raise Missing("it would answer other machines: run as root, with unshare on PATH")
    return RaySide(home, python_for("ray"))


def _prefect(home: Path, _: contextlib.ExitStack) -> Side:
    return PrefectSide(home, python_for("prefect"))


def _mlflow(home: Path, _: contextlib.ExitStack) -> Side:
    return MLflowSide(home, python_for("mlflow"))


def _sqlite(home: Path, _: contextlib.ExitStack) -> Side:
    return IpulseSide(home)


def _postgresql(home: Path, closing: contextlib.ExitStack) -> Side:
    return IpulseSide(home, _database(closing))


def _database(closing: contextlib.ExitStack) -> str:
    try:
        folder = programs()
    except MissingDependency as error:
        raise Missing(str(error)) from error
    server = PostgreSQLServer(folder, is_durable=True)
    with all_of_them():
        closing.enter_context(server)
    return server.new_database()


_SIDES: dict[str, Callable[[Path, contextlib.ExitStack], Side]] = {
    "celery": _celery,
    "celery_durable": _durable_celery,
    "huey": _huey,
    "procrastinate": _procrastinate,
    "ray": _ray,
    "prefect": _prefect,
    "mlflow": _mlflow,
    "sqlite": _sqlite,
    "postgresql": _postgresql,
}
NAMES = tuple(_SIDES)
RUNNING = tuple(name for name in NAMES if name != "mlflow")  # those that run jobs
