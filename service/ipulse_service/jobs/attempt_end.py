"""The end of an attempt, stored together with its last events and its manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.errors import Problem
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.files import stored
from ipulse_service.files.blobs import Blobs
from ipulse_service.files.partial_upload import PartialUpload, WrongContent
from ipulse_service.files.s3 import S3Blobs
from ipulse_service.jobs import artifacts, attempts, losses, worker_reports
from ipulse_service.jobs.artifacts import NewArtifact
from ipulse_service.jobs.job_view import JobView
from ipulse_service.jobs.worker_reports import Reportable
from ipulse_service.settings import Settings


@dataclass(frozen=True)
class NewManifest:
    """A manifest that came with the end of its attempt."""

    artifact: NewArtifact
    content: bytes
    sha256: str  # as the agent computed it


@dataclass(frozen=True)
class AttemptEnd:
    """How an attempt ended, with what was not reported before."""

    outcome: AttemptOutcome
    first: int = 1  # number of the first event
    events: Sequence[Reportable] = ()
    manifest: NewManifest | None = None


class AttemptFinisher:
    """Stores the ends of attempts."""

    def __init__(self, database: Database, blobs: Blobs | S3Blobs, settings: Settings) -> None:
        self._database = database
        self._blobs = blobs
        self._settings = settings

    def finish(self, attempt_id: str, fence: str, end: AttemptEnd) -> JobView:
        """Ends the attempt and stores what came with its end: all of it, or nothing.

        Returns the job. An end that was stored before changes nothing.
        Raises what `attempts.finish`, `worker_reports.record` and `artifacts.add` raise,
        WrongContent, and Unavailable.
        """
        if end.manifest is None:
            with self._database.write() as transaction:
                return self._finish(transaction, attempt_id, fence, end)
        upload = self._blobs.receive()
        try:
            _write_manifest(upload, end.manifest)
            upload.sync()
            with stored.keeping(self._database, self._blobs, upload) as transaction:
                return self._finish(transaction, attempt_id, fence, end, upload)
        finally:
            upload.close()

    def _finish(
        self,
        transaction: Transaction,
        attempt_id: str,
        fence: str,
        end: AttemptEnd,
        upload: PartialUpload | None = None,
    ) -> JobView:
        attempt = losses.hold_to_finish(
            transaction,
            attempt_id,
            fence,
            end.outcome,
            self._settings.lease_seconds,
            brings_nothing=not end.events and end.manifest is None,
        )
        if attempt.finished_at is None:
            if end.events:
                worker_reports.record(transaction, attempt, end.first, end.events)
            if end.manifest and upload:
                artifacts.add(transaction, attempt, end.manifest.artifact, upload)
        job = attempts.finish(transaction, attempt, end.outcome, self._settings)
        return JobView.read(transaction, job)


def _write_manifest(upload: PartialUpload, manifest: NewManifest) -> None:
    upload.write(manifest.content)
    if upload.sha256 != manifest.sha256:
        detail = f"the content that arrived has the digest {upload.sha256}"
        raise WrongContent([Problem("/manifest/sha256", "wrong_sha256", detail)])
