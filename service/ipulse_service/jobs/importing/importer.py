"""Imports a job from an archive that was uploaded: all of it, or nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ipulse.models import validate
from ipulse.spec import parse_job_spec
from ipulse_core import strict_json
from ipulse_core.errors import Conflict, InvalidInput, NotFound, Problem, Unavailable
from ipulse_core.manifest import ListedFile
from ipulse_service.datasets import uploads
from ipulse_service.datasets.uploads import UploadRow
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.files import stored
from ipulse_service.files.stored import Store
from ipulse_service.jobs import deletion, store
from ipulse_service.jobs.importing import rows
from ipulse_service.jobs.importing.rows import ImportedJob
from ipulse_service.jobs.job import JobRow
from ipulse_service.reading.reader import ARCHIVE, DocumentReader, Unreadable

PURPOSE = "archive"  # of the uploads
_BLOCK = 2**20  # bytes
_MAX_LINE = 2**23  # bytes of a row: an event with escapes, and the names of its columns


class JobExists(Conflict):
    """The service has a job of this id, which is not from this archive; delete it first."""

    code = "job_exists"


class JobImporter:
    """Imports jobs into a database and a store, for the caller of the database's transactions."""

    def __init__(self, blobs: Store, reader: DocumentReader, scratch: Path) -> None:
        self._blobs = blobs
        self._reader = reader
        self._scratch = scratch

    def run(self, database: Database, caller: str, upload: UploadRow) -> tuple[JobRow, bool]:
        """Returns the job of an uploaded archive, and whether it is new.

        Raises InvalidInput with every problem of the archive, JobExists and Unavailable.
        """
        self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (
            self._blobs.as_file(upload.sha256) as path,
            tempfile.TemporaryFile(dir=self._scratch) as lines,
        ):
            content = self._read(path, lines)
            with database.read() as transaction:
                former = _imported(transaction, content["job"]["id"], upload.sha256)
            if former is not None:
                return former, False
            files = [
                validate(ListedFile, {name: each[name] for name in each if name != "offset"})
                for each in content["files"]
            ]
            spec = parse_job_spec(strict_json.loads(content["spec"]))
            job = ImportedJob(content["job"], spec, files, content["metrics"], upload.sha256)
            kept: list[UploadRow] = []
            staged: int | None = None
            try:
                for file, each in zip(files, content["files"], strict=True):
                    kept.append(self._keep(database, caller, path, file, each["offset"]))
                lines.seek(0)
                staged = rows.begin(database, job)
                rows.fill(database, staged, job, content["attempts"], _bounded(lines))
                return self._show(database, staged, job, kept)
            except BaseException:
                self._undo(database, staged, kept)
                raise

    def _read(self, path: Path, lines: IO[bytes]) -> dict[str, Any]:
        try:
            return self._reader.read(ARCHIVE, [path], lines)
        except Unreadable as error:
            problem = Problem("", "invalid_archive", error.detail)
            raise InvalidInput([problem], "the archive is not valid") from error

    def _keep(
        self, database: Database, caller: str, path: Path, described: ListedFile, offset: int
    ) -> UploadRow:
        """Stores a file of the archive. Its upload keeps it until the job's row refers to it."""
        file = self._blobs.receive()
        try:
            with path.open("rb") as archive:
                archive.seek(offset)
                while block := archive.read(min(_BLOCK, described.size - file.size)):
                    file.write(block)
            if file.sha256 != described.sha256:
                raise Unavailable(f"{described.name} of the archive changed while it was read")
            file.sync()
            with stored.keeping(database, self._blobs, file) as transaction:
                return uploads.add_complete(transaction, caller, PURPOSE, file.size, file.sha256)
        finally:
            file.close()

    def _show(
        self, database: Database, staged: int, job: ImportedJob, kept: Sequence[UploadRow]
    ) -> tuple[JobRow, bool]:
        with database.write() as transaction:
            transaction.lock(f"import/{job.fields['id']}")
            former = _imported(transaction, job.fields["id"], job.archive_sha256)
            row = former or rows.show(transaction, staged, job)
            for each in kept:
                uploads.remove(transaction, each.id)
        if former is not None:  # another request was faster
            deletion.try_purge(database, staged)
        return row, former is None

    def _undo(self, database: Database, staged: int | None, kept: Sequence[UploadRow]) -> None:
        with suppress(Unavailable):  # housekeeping does it later
            if staged is not None:
                deletion.try_purge(database, staged)
            with database.write() as transaction:
                for each in kept:
                    uploads.remove(transaction, each.id)
            for each in kept:
                stored.forget(database, self._blobs, each.sha256)


def _bounded(lines: IO[bytes]) -> Iterator[bytes]:
    while line := lines.readline(_MAX_LINE):
        yield line


def _imported(transaction: Transaction, job_id: str, sha256: str) -> JobRow | None:
    """Returns the job of this id if it is from this archive. Raises JobExists if it is not."""
    try:
        job = store.peek(transaction, job_id)
    except NotFound:
        return None
    if job.imported_sha256 != sha256 or not transaction.access.sees(job.project):
        raise JobExists(
            f"the service has a job {job_id}, which is not from this archive: delete it first"
        )
    return job
