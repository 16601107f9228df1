"""Runs a build in one process at a time, with progress, and stores its complete result."""

from __future__ import annotations

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Callable, List, Sequence, TypeVar

from ipulse_core.build_cache.durations import record_seconds, recorded_seconds
from ipulse_core.build_cache.lock import lock_of, locked
from ipulse_core.build_cache.progress import BuildProgress, ProgressCallback
from ipulse_core.build_cache.scratch_directory import scratch_directory
from ipulse_core.worker_faults import errors_name

T = TypeVar("T")


class Steps:
    """The steps of one build. Each finished step is reported."""

    def __init__(
        self, what: str, report: ProgressCallback, recorded: float = 0.0, total: int = 1
    ) -> None:
        """recorded: seconds that an earlier build took, 0 if unknown."""
        self._what, self._report = what, report
        self._recorded = recorded
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
        if self._done < self._total:
            self._report(self._progress())

    def complete(self) -> float:
        """Report the end of the build and return its seconds."""
        self._done = self._total
        progress = self._progress()
        self._report(progress)
        return progress.elapsed

    def _progress(self) -> BuildProgress:
        elapsed = time.monotonic() - self._start
        expected = None
        if self._recorded > elapsed:
            expected = self._recorded
        elif self._done:
            expected = elapsed * self._total / self._done
        return BuildProgress(
            self._what, self._done, self._total, elapsed, expected, process=os.getpid()
        )


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

        steps = Steps(what, report_everywhere, recorded_seconds(directory.parent, name) or 0.0)
        with scratch_directory(directory.parent, name) as scratch:
            complete = scratch / "complete"
            complete.mkdir()
            make(complete, scratch, steps)
            shutil.rmtree(directory, ignore_errors=True)  # without its main file
            complete.rename(directory)
        record_seconds(directory.parent, name, steps.complete())
    return built
