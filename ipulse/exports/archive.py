"""One file with everything of a job that has ended: spec, events, files and checksums.

It is a zip without compression, in a fixed order and without times: equal jobs give equal bytes.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from ipulse.archives.layout import (
    CHECKSUMS,
    EVENTS,
    FILES,
    JOB,
    METADATA,
    NOT_ARCHIVED,
    SPEC,
    canonical,
)
from ipulse.client import JobEvent
from ipulse_core.errors import Conflict

from .record import JobRecord
from .ro_crate import metadata_of

_NO_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can have
_BLOCK = 2**20


def write_archive(
    record: JobRecord, events: Iterable[JobEvent], files: Mapping[str, Path], to: Path
) -> Path:
    """Write a job's archive into a folder and return its path. Raises Conflict if it runs on."""
    job = record.job
    if not job.state.is_terminal:
        raise Conflict(f"job {job.id} is {job.state.value}: an archive is of a job that has ended")
    to.mkdir(parents=True, exist_ok=True)
    path, part = to / f"{job.id}.zip", to / f".{job.id}.zip.part"
    texts = {
        JOB: canonical({name: job.json[name] for name in job.json.keys() - NOT_ARCHIVED}),
        SPEC: canonical(job.json["spec"]),
        EVENTS: b"".join(canonical(event.json) for event in events),
        METADATA: canonical(metadata_of(record)),
    }
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            digests = {name: _add_text(archive, name, text) for name, text in texts.items()}
            for name in sorted(files):
                digests[FILES + name] = _add_file(archive, FILES + name, files[name])
            lines = [f"{digests[name]}  {name}\n" for name in sorted(digests)]
            _add_text(archive, CHECKSUMS, "".join(lines).encode())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _add_text(archive: zipfile.ZipFile, name: str, text: bytes) -> str:
    archive.writestr(_member(name), text)
    return hashlib.sha256(text).hexdigest()


def _add_file(archive: zipfile.ZipFile, name: str, path: Path) -> str:
    digest, member = hashlib.sha256(), _member(name)
    member.file_size = path.stat().st_size
    with open(path, "rb") as file, archive.open(member, "w") as stored:
        while block := file.read(_BLOCK):
            digest.update(block)
            stored.write(block)
    return digest.hexdigest()


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _NO_TIME)
    member.external_attr = 0o644 << 16
    member.create_system = 3  # the same on every system
    return member
