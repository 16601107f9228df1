"""The files that an attempt begins with, downloaded before its runner starts."""

from __future__ import annotations

from pathlib import Path

from ipulse_core.errors import IPUlseError, StaleToken
from ipulse_core.events import ProgressEvent
from ipulse_core.states import Phase
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import ServiceUnavailable
from ipulse_worker.agent.service_types import ClaimedJob, StartFromFile
from ipulse_worker.agent.uploads.event_reporter import EventReporter
from ipulse_worker.agent.uploads.resumption import (
    Pause,
    fetch_checkpoint,
    fetch_op,
    fetch_start_file,
)


class StartFileMissing(IPUlseError):
    """The file that the job starts from cannot be downloaded, and nothing can replace it."""

    code = "start_file_missing"


class AttemptFiles:
    """Downloads the files of one attempt to its directory, and reports the progress."""

    def __init__(
        self,
        api: ServiceAPI,
        claim: ClaimedJob,
        directory: Path,
        reporter: EventReporter,
        pause: Pause,
    ) -> None:
        """Prepare the downloads; `pause` sleeps between two tries, and returns True to end them."""
        self._api = api
        self._claim = claim
        self._directory = directory
        self._reporter = reporter
        self._pause = pause

    def start_file(self, start: StartFromFile) -> str:
        """Download the file of another job to start from. Raises StartFileMissing."""
        downloading = f"downloading {start.name}, with which the job starts"
        self._reporter.add(ProgressEvent(Phase.PREPARE.value, 0.0, downloading))
        try:
            path = fetch_start_file(self._api, self._claim, start, self._directory, self._pause)
        except IPUlseError as error:
            if self._says_nothing_of_files(error):
                raise
            raise StartFileMissing(f"{start.name} cannot be downloaded: {error.message}") from error
        return str(path)

    def ops(self) -> dict[str, str] | None:
        """Download the custom ops of the job. Raises StartFileMissing."""
        paths: dict[str, str] = {}
        for number, op in enumerate(self._claim.ops):
            downloading = f"downloading the custom op {op.name}"
            self._reporter.add(ProgressEvent(Phase.PREPARE.value, 0.0, downloading))
            try:
                path = fetch_op(self._api, self._claim, op, number, self._directory, self._pause)
            except IPUlseError as error:
                if self._says_nothing_of_files(error):
                    raise
                what = f"the custom op {op.name} cannot be downloaded: {error.message}"
                raise StartFileMissing(what) from error
            paths[op.sha256] = str(path)
        return paths or None

    def checkpoint(self) -> str | None:
        """Download the checkpoint to resume from; return None to start from the beginning."""
        stored = self._claim.checkpoint
        if stored is None:
            return None
        downloading = f"downloading the checkpoint {stored.name}"
        self._reporter.add(ProgressEvent(Phase.PREPARE.value, 0.0, downloading))
        try:
            path = fetch_checkpoint(self._api, self._claim, stored, self._directory, self._pause)
        except IPUlseError as error:
            if self._says_nothing_of_files(error):
                raise
            # Training from the beginning gives the same result; it only takes longer.
            why = f"{stored.name} cannot be downloaded, so training starts again: {error.message}"
            self._reporter.remark(why, "warning")
            return None
        self._reporter.remark(f"Attempt {self._claim.attempt} resumes from {stored.name}.")
        return str(path)

    def _says_nothing_of_files(self, error: IPUlseError) -> bool:
        """Return whether the attempt or the service is gone; other tries say that a file is."""
        is_away = isinstance(error, ServiceUnavailable) and error.is_away
        return is_away or isinstance(error, StaleToken) or self._claim.lease.is_lost
