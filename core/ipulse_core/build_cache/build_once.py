"""Runs a build in one process at a time, with progress, and stores its complete result."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Callable, Iterator, List, Optional, Sequence, TypeVar

from ipulse_core.build_cache.durations import record_steps, recorded_steps
from ipulse_core.build_cache.lock import lock_of, locked
from ipulse_core.build_cache.progress import BuildProgress, ProgressCallback
from ipulse_core.build_cache.unused_builds import remove_unused
from ipulse_core.worker_faults import errors_name

T = TypeVar("T")
FIRST_STEPS = 0.1  # share of a build after which its own speed counts as much as the record

SUFFIX = ".building"
# A younger directory is never removed: it may be about to be locked, or a compiler may outlive its
# parent.
LEFTOVER_SECONDS = 3600.0


class Steps:
    """The steps of one build. Each finished step is reported."""

    def __init__(
        self, what: str, report: ProgressCallback, recorded: Sequence[float] = (), total: int = 1
    ) -> None:
        """recorded: seconds after each step of an earlier build; one number: of the whole build."""
        self._what, self._report = what, report
        self._recorded = recorded
        self._times: List[float] = []  # seconds after each finished step
        self._start = time.monotonic()
        self._done, self._total = 0, total

    def begin(self, total: int) -> None:
        """Report the number of steps, of which none is finished."""
        self._total = total
        self._report(self._progress())

    def run(self, tasks: Sequence[Callable[[], T]]) -> List[T]:
        """Run tasks in threads, one step each, and return their results in order.

        After an error no further task is started.
        """
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            futures = [pool.submit(task) for task in tasks]
            try:
                for future in as_completed(futures):
                    future.result()
                    self.finish_one()
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
            return [future.result() for future in futures]

    def finish_one(self) -> None:
        """Count one step. The last step of a build is reported when its result is stored."""
        self._done += 1
        self._times.append(time.monotonic() - self._start)
        if self._done < self._total:
            self._report(self._progress())

    def complete(self) -> List[float]:
        """Report the end of the build and return the seconds after each of its steps."""
        self._done = self._total
        progress = self._progress()
        self._report(progress)
        return [*self._times[: self._total - 1], progress.elapsed]

    def _progress(self) -> BuildProgress:
        elapsed = time.monotonic() - self._start
        last = self._times[-1] if self._times else 0.0
        expected = expected_seconds(self._recorded, self._done, self._total, last, elapsed)
        return BuildProgress(
            self._what, self._done, self._total, elapsed, expected, process=os.getpid()
        )


def expected_seconds(
    recorded: Sequence[float], done: int, total: int, last: float, elapsed: float
) -> Optional[float]:
    """Return the seconds that a build is expected to take, None if nothing is known.

    The earlier build tells which share of the time its steps took; the present steps tell how fast
    the machine is now. The first ones count little: a short step can be late by chance.

    Args:
        recorded: seconds after each step of an earlier build; one number: of the whole build.
        done: finished steps.
        total: steps in all.
        last: seconds after the last finished step, 0 without one.
        elapsed: seconds since the build began.
    """
    if not recorded:
        return elapsed * total / done if done else None
    whole = recorded[-1]
    if len(recorded) == total:
        times = [0.0, *recorded]
    else:
        times = [whole * step / total for step in range(total + 1)]
    trust = FIRST_STEPS * whole
    slower = max(
        (last + trust) / (times[done] + trust),
        # The following step is not finished yet.
        (elapsed + trust) / (times[min(done + 1, total)] + trust),
    )
    return max(elapsed, whole * slower)


# Makes the content of the first directory; the second is for intermediate files.
Make = Callable[[Path, Path, Steps], None]


def build_once(
    what: str, name: str, directory: Path, main_file: str, make: Make, report: ProgressCallback
) -> Path:
    """Build a directory of the cache unless it is complete, and return the path of its main file.

    what: shown to people.
    name: what the directory's name begins with; builds of one name are expected to take as long.
    make: makes the content; it begins its steps, and its exceptions pass through.
    report: also called while another process builds the same directory and this one waits.
    """
    built = directory / main_file
    directory.parent.mkdir(parents=True, exist_ok=True)

    def report_wait(note: str) -> None:
        progress = BuildProgress.from_json(note)
        if progress is None:
            report(BuildProgress.of_unknown_process(what))
        else:
            report(progress.as_seen_by_another())

    with errors_name(directory.parent), locked(lock_of(directory), report_wait) as write_note:
        if built.exists():  # another process built it while this one waited
            return built

        def report_everywhere(progress: BuildProgress) -> None:
            write_note(progress.to_json())
            report(progress)

        steps = Steps(what, report_everywhere, recorded_steps(directory.parent, name))
        with scratch_directory(directory.parent, name) as scratch:
            complete = scratch / "complete"
            complete.mkdir()
            make(complete, scratch, steps)
            shutil.rmtree(directory, ignore_errors=True)  # without its main file
            complete.rename(directory)
        record_steps(directory.parent, name, steps.complete())
    return built


@contextlib.contextmanager
def scratch_directory(cache: Path, name: str) -> Iterator[Path]:
    """Make a directory in `cache` and remove it at the end.

    First, this removes the directories of killed processes and unused builds.
    """
    remove_leftovers(cache)
    remove_unused(cache)
    prefix = f"{name}-"
    with tempfile.TemporaryDirectory(dir=str(cache), prefix=prefix, suffix=SUFFIX) as scratch:
        descriptor = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            yield Path(scratch)
        finally:
            os.close(descriptor)


def remove_leftovers(cache: Path) -> None:
    """Remove every scratch directory that is old and that no process has locked."""
    oldest = time.time() - LEFTOVER_SECONDS
    for path in cache.glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError):  # already removed, locked, or owned by another user
            if path.stat().st_mtime > oldest:
                continue
            descriptor = os.open(str(path), os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(str(path))
            finally:
                os.close(descriptor)
