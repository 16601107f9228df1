"""Finds what a run leaves behind without need: files, rows, sockets, processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from ipulse_service.selftest.testbed import Testbed

AGED_SECONDS = 2 * 86_400  # files of a crash are kept for one day
CLEAN_SECONDS = 120.0
EXIT_SECONDS = 20.0  # a guardian ends a moment after its program


def after_a_day(testbed: Testbed, clean_seconds: float = CLEAN_SECONDS) -> list[str]:
    """Makes every file look old, restarts an agent, and returns what was not cleaned up.

    To be called once every job has ended.
    """
    for folder in ("work", "artifacts"):
        _age(testbed.home / folder)
    testbed.stack.restart_agent()
    return _lasting(lambda: [*_files(testbed), *testbed.records.pending()], clean_seconds)


def after_the_end(testbed: Testbed, exit_seconds: float = EXIT_SECONDS) -> list[str]:
    """Returns what is left of a stopped stack."""

    def found() -> Iterator[str]:
        for path in (testbed.home / "work").iterdir():
            yield f"{path.name} stays in the work directory"
        if testbed.stack.broker_socket.exists():
            yield "the broker's socket stays"
        for pid in _processes_of(testbed.home):
            yield f"process {pid} lives on"

    return _lasting(lambda: list(found()), exit_seconds)


def _lasting(look: Callable[[], list[str]], seconds: float) -> list[str]:
    """Repeats a search until it finds nothing, or returns what is left after `seconds`."""
    deadline = time.monotonic() + seconds
    while (found := look()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def _age(folder: Path) -> None:
    before = time.time() - AGED_SECONDS
    for path in [folder, *folder.rglob("*")]:
        with suppress(FileNotFoundError):
            os.utime(path, (before, before))


def _files(testbed: Testbed) -> Iterator[str]:
    for path in (testbed.home / "work").iterdir():
        if path.suffix != ".agent":  # the lock of a running agent
            yield f"{path.name} stays in the work directory"
    for path in (testbed.home / "artifacts" / "incoming").iterdir():
        yield f"the upload {path.name} is never dropped"
    needed = testbed.records.digests()
    for path in (testbed.home / "artifacts" / "sha256").glob("??/*"):
        if path.name not in needed:
            yield f"the file {path.name} has no row"


def _processes_of(home: Path) -> Iterator[int]:
    """Yields processes that have a home in their environment or as working directory."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):  # it has ended, or belongs to another user
                environment = (folder / "environ").read_bytes()
                if (
                    os.fsencode(home) in environment
                    or home in Path(os.readlink(folder / "cwd")).parents
                ):
                    yield int(folder.name)
