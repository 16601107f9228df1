"""The methods of the synchronous client about results of jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from ipulse.client.client_base import ClientBase
from ipulse.client.datasets.uploads import UploadProgress
from ipulse.client.jobs.curves import MetricCurve
from ipulse.client.jobs.resources import Artifact, Job
from ipulse.client.location import PathLike
from ipulse.client.transport.transports import finished


class BlockingJobResults:
    """Reads metrics, and downloads files of jobs."""

    _calls: ClientBase

    def curves(
        self,
        job_ids: Sequence[str],
        names: Sequence[str] = (),
        *,
        scope: str = "epoch",
        x: str = "epoch",
        begin: float | None = None,
        end: float | None = None,
        points: int = 1000,
    ) -> list[MetricCurve]:
        """Return curves of metrics of jobs, all metrics unless some are named.

        scope: epoch, or step for the values of training steps.
        x: epoch, step, samples, training_time (s, without pauses) or wall_time (s since 1970).
        begin, end: bounds of x.
        points: a curve with more is divided into so many buckets, at most.

        Raises NotFound and InvalidInput.
        """
        return finished(
            self._calls.curves(
                job_ids, names, scope=scope, x=x, begin=begin, end=end, points=points
            )
        )

    def compare(
        self,
        job_ids: Sequence[str] | None = None,
        *,
        query: str | None = None,
        columns: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
        group_by: Sequence[str] | None = None,
        left_out: Sequence[str] = ("seed",),
    ) -> dict[str, Any]:
        """Compare jobs: the settings that differ, their metrics, and figures of groups.

        Jobs of a group have equal values of `group_by`: by default of all settings that differ but
        those `left_out`. The result is that of `POST /v1/jobs:compare`. Raises InvalidInput and
        NotFound.
        """
        return finished(
            self._calls.compare(
                job_ids,
                query=query,
                columns=columns,
                metrics=metrics,
                group_by=group_by,
                left_out=left_out,
            )
        )

    def artifacts(self, job_id: str) -> list[Artifact]:
        """Return the files of the job's official attempt."""
        return finished(self._calls.artifacts(job_id))

    def download(
        self, job_id: str, to: PathLike, roles: Collection[str] | None = None
    ) -> list[Path]:
        """Download the job's files to a folder, all of them or those of some roles.

        Each file is verified by its SHA-256 before it gets its name. A file that exists already
        is not downloaded again. Raises RemoteError for content with another digest.
        """
        return finished(self._calls.download(job_id, to, roles))

    def download_file(self, job_id: str, name: str, to: PathLike) -> Path:
        """Download one of the job's files to a folder, as `download` does. Raises NotFound."""
        return finished(self._calls.download_file(job_id, name, to))

    def import_archive(self, path: PathLike, on_progress: UploadProgress | None = None) -> Job:
        """Import a job from a file of `ipulse export archive`, with its id, events and files.

        The same archive twice is one job. Raises InvalidInput with every problem of the archive,
        and Conflict if the service has another job of this id.
        """
        return finished(self._calls.import_archive(path, on_progress))

    def profile(self, job_id: str) -> dict[str, Any]:
        """Return the job's profile.json. Raises NotFound before it exists."""
        return finished(self._calls.profile(job_id))
