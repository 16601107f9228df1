"""Writes the event files of jobs for TensorBoard while they train."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from ipulse.client import JobEvent, JobHandle

from .exporting import read_file
from .record import JobRecord, points_of, record_of
from .tensorboard import EventFile

PAUSE = 2.0  # seconds between two looks at the jobs


def follow_jobs(
    find: Callable[[], Iterable[JobHandle]], to: Path, pause: float = PAUSE
) -> Iterator[str]:
    """Write event files until all jobs have ended, and yield the folder of each that has.

    Args:
        find: Returns the jobs; it is asked again, so that new jobs join.
        to: The folder that TensorBoard reads.
        pause: Seconds between two looks at the jobs.
    """
    followed: dict[str, _FollowedJob] = {}
    while True:
        for job in find():
            if job.id not in followed:
                followed[job.id] = _FollowedJob(job, to)
        open_ones = [one for one in followed.values() if not one.is_over]
        for one in open_ones:
            if one.advance():
                yield str(one.folder)
        if all(one.is_over for one in followed.values()):
            return
        time.sleep(pause)


class _FollowedJob:
    """Appends the metrics of one job to its event file."""

    def __init__(self, job: JobHandle, to: Path) -> None:
        self._job = job
        self._after = 0  # number of the latest event
        self._written: set[tuple[int, str]] = set()
        self._file = EventFile(JobRecord(job.refresh().status, (), ()), to)
        self.folder = self._file.folder
        self.is_over = False

    def advance(self) -> bool:
        """Write what is new, and the results once the job has ended. Return whether it has."""
        # First, because all events of an ended job are there.
        is_over = self._job.refresh().state.is_terminal
        new = points_of(self._new_events())
        fresh = [point for point in new if (point.step, point.scope) not in self._written]
        self._written.update((point.step, point.scope) for point in fresh)
        self._file.add_points(fresh)
        if is_over:
            record = record_of(self._job)
            with self._file, tempfile.TemporaryDirectory(prefix="ipulse-") as name:
                read = partial(read_file, self._job, Path(name))
                self._file.add_results(record, read)
            self.is_over = True
        return is_over

    def _new_events(self) -> Iterator[JobEvent]:
        for event in self._job.events(self._after, ["metric"]):
            self._after = event.seq
            yield event
