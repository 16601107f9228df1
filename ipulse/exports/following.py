"""Writes the event files of jobs for TensorBoard while they train."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from ipulse.client import Client, JobEvent

from .exporting import read_file
from .record import JobRecord, points_of, record_of
from .tensorboard import EventFile

PAUSE = 2.0  # seconds between two looks at the jobs


def follow_jobs(
    client: Client, find: Callable[[], Iterable[str]], to: Path, pause: float = PAUSE
) -> Iterator[str]:
    """Write event files until all jobs have ended, and yield the folder of each that has.

    Args:
        client: The service.
        find: Returns the ids of the jobs; it is asked again, so that new jobs join.
        to: The folder that TensorBoard reads.
        pause: Seconds between two looks at the jobs.
    """
    followed: dict[str, _FollowedJob] = {}
    while True:
        for job_id in find():
            if job_id not in followed:
                followed[job_id] = _FollowedJob(client, job_id, to)
        open_ones = [job for job in followed.values() if not job.is_over]
        for job in open_ones:
            if job.advance():
                yield str(job.folder)
        if all(job.is_over for job in followed.values()):
            return
        time.sleep(pause)


class _FollowedJob:
    """Appends the metrics of one job to its event file."""

    def __init__(self, client: Client, job_id: str, to: Path) -> None:
        self._client = client
        self._id = job_id
        self._after = 0  # number of the latest event
        self._written: set[tuple[int, str]] = set()
        self._file = EventFile(JobRecord(client.get(job_id), (), ()), to)
        self.folder = self._file.folder
        self.is_over = False

    def advance(self) -> bool:
        """Write what is new, and the results once the job has ended. Return whether it has."""
        is_over = self._client.get(
            self._id
        ).state.is_terminal  # first: all events of an ended job are there
        new = points_of(self._new_events())
        fresh = [point for point in new if (point.step, point.scope) not in self._written]
        self._written.update((point.step, point.scope) for point in fresh)
        self._file.add_points(fresh)
        if is_over:
            record = record_of(self._client, self._id)
            with self._file, tempfile.TemporaryDirectory(prefix="ipulse-") as name:
                read = partial(read_file, self._client, self._id, Path(name))
                self._file.add_results(record, read)
            self.is_over = True
        return is_over

    def _new_events(self) -> Iterator[JobEvent]:
        for event in self._client.events(self._id, self._after, ["metric"]):
            self._after = event.seq
            yield event
