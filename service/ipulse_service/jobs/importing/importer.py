"""Imports a job from an archive that was uploaded: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ipulse.archives.archived_event import ArchivedEvent
from ipulse.archives.layout import FILES
from ipulse.archives.verification import OpenArchive, open_archive
from ipulse_core.errors import Conflict, IPUlseError, NotFound, Unavailable
from ipulse_service.datasets import uploads
from ipulse_service.datasets.uploads import UploadRow
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.files import artifacts
from ipulse_service.files.artifacts import Store
from ipulse_service.jobs import store
from ipulse_service.jobs.importing import rows
from ipulse_service.jobs.job import JobRow

PURPOSE = "archive"  # of the uploads


class JobExists(Conflict):
    """The service has a job of this id, which is not from this archive; delete it first."""

    code = "job_exists"


class JobImporter:
    """Imports jobs into a database and a store."""

    def __init__(self, database: Database, blobs: Store) -> None:
        self._database = database
        self._blobs = blobs

    def run(self, caller: str, upload: UploadRow) -> tuple[JobRow, bool]:
        """Returns the job of an uploaded archive, and whether it is new.

        Raises InvalidInput with every problem of the archive, JobExists and Unavailable.
        """
        with self._blobs.as_file(upload.sha256) as path, open_archive(path) as archive:
            found = list(archive.events())
            with self._database.read() as transaction:
                former = _imported(transaction, archive.job.id, upload.sha256)
            if former is not None:
                return former, False
            kept: list[UploadRow] = []
            try:
                for file in archive.files:
                    kept.append(self._keep(caller, archive, FILES + file.name))
                return self._add(archive, found, upload.sha256, kept)
            except IPUlseError:
                self._release(kept)
                raise

    def _keep(self, caller: str, archive: OpenArchive, name: str) -> UploadRow:
        """Stores a file of the archive. Its upload keeps it until the job's row refers to it."""
        file = self._blobs.receive()
        try:
            for block in archive.zip.blocks(name):
                file.write(block)
            file.sync()
            with artifacts.keeping(self._database, self._blobs, file) as transaction:
                return uploads.add_complete(transaction, caller, PURPOSE, file.size, file.sha256)
        finally:
            file.close()

    def _add(
        self,
        archive: OpenArchive,
        found: Sequence[ArchivedEvent],
        sha256: str,
        kept: Sequence[UploadRow],
    ) -> tuple[JobRow, bool]:
        with self._database.write() as transaction:
            transaction.lock(f"import/{archive.job.id}")
            former = _imported(transaction, archive.job.id, sha256)
            job = former or rows.add(transaction, archive, found, sha256)
            for each in kept:
                uploads.remove(transaction, each.id)
        return job, former is None

    def _release(self, kept: Sequence[UploadRow]) -> None:
        with suppress(Unavailable):  # they are forgotten after a day
            with self._database.write() as transaction:
                for each in kept:
                    uploads.remove(transaction, each.id)
            for each in kept:
                artifacts.forget(self._database, self._blobs, each.sha256)


def _imported(transaction: Transaction, job_id: str, sha256: str) -> JobRow | None:
    """Returns the job of this id if it is from this archive. Raises JobExists if it is not."""
    try:
        job = store.peek(transaction, job_id)
    except NotFound:
        return None
    if job.imported_sha256 != sha256:
        raise JobExists(
            f"the service has a job {job_id}, which is not from this archive: delete it first"
        )
    return job
