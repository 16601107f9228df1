"""What a run leaves behind that nobody needs: files, rows, sockets, processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from ipulse_service.selftest.testbed import Testbed

AGED_SECONDS = 2 * 86_400  # what a crash leaves is kept for a day
CLEAN_SECONDS = 120.0
EXIT_SECONDS = 20.0  # a guardian sees the end of whom it guards a moment later


def after_a_day(testbed: Testbed, clean_seconds: float = CLEAN_SECONDS) -> list[str]:
    """Makes every file look old, has an agent start again, and tells what is not cleaned up then.

    To be called once every job has ended.
    """
    for folder in ("work", "artifacts"):
        _age(testbed.home / folder)
    testbed.stack.restart_agent()
    return _lasting(lambda: [*_files(testbed), *testbed.records.pending()], clean_seconds)


def after_the_end(testbed: Testbed, exit_seconds: float = EXIT_SECONDS) -> list[str]:
    """What is there of a stack that was stopped."""

    def found() -> Iterator[str]:
        for path in (testbed.home / "work").iterdir():
            yield f"{path.name} stays in the work directory"
        if testbed.stack.broker_socket.exists():
            yield "the broker's socket stays"
        for pid in _processes_of(testbed.home):
            yield f"process {pid} lives on"

    return _lasting(lambda: list(found()), exit_seconds)


def _lasting(look: Callable[[], list[str]], seconds: float) -> list[str]:
    """What is still found after so long, at the latest; nothing as soon as that is so."""
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
        if path.suffix != ".agent":  # the lock of one that runs
            yield f"{path.name} stays in the work directory"
    for path in (testbed.home / "artifacts" / "incoming").iterdir():
        yield f"the upload {path.name} is never dropped"
    needed = testbed.records.digests()
    for path in (testbed.home / "artifacts" / "sha256").glob("??/*"):
        if path.name not in needed:
            yield f"the file {path.name} has no row"


def _processes_of(home: Path) -> Iterator[int]:
    """Those that were told of a home in their environment, or work there."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):  # it ended meanwhile, or is another user's
                told = (folder / "environ").read_bytes()
                if os.fsencode(home) in told or home in Path(os.readlink(folder / "cwd")).parents:
                    yield int(folder.name)
