"""Verifies an archive without the service."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ipulse.manifest import check_stored
from ipulse.models import validate
from ipulse.spec import AnySpec, parse_job_spec
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.manifest import ListedFile
from ipulse_core.states import COMPLETE

from .archived_event import ArchivedEvent, events_in
from .archived_job import ArchivedJob
from .layout import EVENTS, FILES, JOB, MANIFEST, METADATA, SPEC
from .zip_reader import ZipReader, invalid, opened_zip


@dataclass(frozen=True)
class VerifiedArchive:
    """An archive in which everything fits together."""

    job_id: str
    name: str
    state: str
    files: int
    size: int  # bytes of the files
    manifest_sha256: str | None  # None for a job that left no manifest


@dataclass(frozen=True)
class OpenArchive:
    """An open archive with verified checksums, job, spec and files; its events are not verified."""

    zip: ZipReader
    job: ArchivedJob
    spec: AnySpec
    files: tuple[ListedFile, ...]

    def events(self) -> Iterator[ArchivedEvent]:
        """Yield the events in order. Raises InvalidInput where one is wrong or missing."""
        last: ArchivedEvent | None = None
        for last in events_in(self.zip.lines(EVENTS), self.job.attempt):
            yield last
        seq = last.seq if last else 0
        if seq != self.job.last_seq:
            detail = f"has {seq:,} events; the job has {self.job.last_seq:,}"
            raise invalid(f"/{EVENTS}", "missing", detail)


@contextmanager
def open_archive(path: Path) -> Iterator[OpenArchive]:
    """Open an archive and verify its names, checksums, job, spec, and the files of its manifest.

    Raises InvalidInput with every problem.
    """
    with opened_zip(path) as archive:
        archive.check_sums()
        job = validate(ArchivedJob, strict_json.loads(archive.text(JOB)))
        value = strict_json.loads(archive.text(SPEC))
        if value != job.spec:
            raise invalid(f"/{SPEC}", "contradiction", "is not the spec of the job")
        sha256 = hashlib.sha256(strict_json.dumps(value).encode()).hexdigest()
        if sha256 != job.spec_sha256:
            detail = f"the spec has the SHA-256 {sha256}"
            raise invalid(f"/{JOB}/spec_sha256", "wrong_sha256", detail)
        files = _files(archive)
        _check_manifest(archive, job, files)
        yield OpenArchive(archive, job, parse_job_spec(value), files)


def verify_archive(path: Path) -> VerifiedArchive:
    """Check an archive: its checksums, job, spec and events, and the files of its manifest.

    Raises InvalidInput with every problem.
    """
    with open_archive(path) as archive:
        for _ in archive.events():
            pass
        job, files = archive.job, archive.files
        manifest = archive.zip.digests.get(MANIFEST)
        size = sum(file.size for file in files)
        return VerifiedArchive(job.id, job.name, job.state.value, len(files), size, manifest)


def _files(archive: ZipReader) -> tuple[ListedFile, ...]:
    """Return what the metadata say about the files, of which each is described once."""
    crate = strict_json.loads(archive.text(METADATA))
    graph = crate.get("@graph") if isinstance(crate, dict) else None
    if not isinstance(graph, list):
        raise invalid(f"/{METADATA}", "wrong_form", "is no metadata of an RO-Crate")
    files: dict[str, ListedFile] = {}
    for index, part in enumerate(graph):
        name = part.get("@id") if isinstance(part, dict) else None
        if not isinstance(name, str) or not name.startswith(FILES):
            continue
        place = f"/{METADATA}/@graph/{index}"
        if name in files or name not in archive.digests:
            raise invalid(place, "missing", f"{name[:100]!r} is no file, or occurs twice")
        size, sha256 = archive.sizes[name], archive.digests[name]
        if (part.get("contentSize"), part.get("sha256")) != (str(size), sha256):
            raise invalid(place, "wrong_sha256", f"{name} has {size:,} bytes of SHA-256 {sha256}")
        described = {
            "name": name.removeprefix(FILES),
            "role": part.get("description"),
            "media_type": part.get("encodingFormat"),
            "size": size,
            "sha256": sha256,
        }
        try:
            files[name] = validate(ListedFile, described)
        except InvalidInput as error:
            problems = [
                Problem(place + each.pointer, each.code, each.detail) for each in error.problems
            ]
            raise InvalidInput(problems, error.message) from error
    for name in archive.digests:
        if name.startswith(FILES) and name not in files:
            raise invalid(f"/{METADATA}", "missing", f"{name} is not described")
    return tuple(files.values())


def _check_manifest(archive: ZipReader, job: ArchivedJob, files: tuple[ListedFile, ...]) -> None:
    if files and not job.attempt:
        raise invalid(f"/{FILES}", "contradiction", "a job without an attempt has no files")
    if MANIFEST in archive.digests:
        # Checkpoints are of the training, not of its result.
        stored = {file.name: file.sha256 for file in files if file.role != "checkpoint"}
        del stored[MANIFEST.removeprefix(FILES)]
        check_stored(archive.text(MANIFEST), stored)
    elif job.reason in COMPLETE:
        raise invalid(f"/{MANIFEST}", "missing", f"a job that {job.state.value} has a manifest")
