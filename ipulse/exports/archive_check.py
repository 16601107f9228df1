"""Verifies an archive without the service."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ipulse.manifest import check_stored
from ipulse.spec import parse_spec, spec_to_json
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.events import FILE_NAME

from .archive import CHECKSUMS, EVENTS, FILES, JOB, METADATA, SPEC

MANIFEST = f"{FILES}manifest.json"
_NEEDED = (JOB, SPEC, EVENTS, METADATA, CHECKSUMS)
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_MOST_MEMBERS = 1000
_LARGEST_TEXT = 2**28  # bytes of a member that is read as a whole
_BLOCK = 2**20


@dataclass(frozen=True)
class VerifiedArchive:
    """An archive in which everything fits together."""

    job_id: str
    name: str
    state: str
    files: int
    size: int  # bytes of the files
    manifest_sha256: str | None  # None for a job that left no manifest


def verify_archive(path: Path) -> VerifiedArchive:
    """Check an archive: its names, checksums, spec, and the files that its manifest lists.

    Raises InvalidInput with every problem.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _verified(archive)
    except OSError as error:
        raise _refused("", f"{path}: {error.strerror}") from error
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError) as error:
        raise _refused("", f"this is no archive of a job, or it is damaged: {error}") from error


def _verified(archive: zipfile.ZipFile) -> VerifiedArchive:
    members = {member.filename: member for member in archive.infolist()}
    problems = list(_problems_of_names(archive, members))
    if problems:
        raise _invalid(problems)
    digests = {name: _digest(archive, name) for name in members}
    problems = list(_problems_of_checksums(_text(archive, CHECKSUMS), digests))
    if problems:
        raise _invalid(problems)
    job = strict_json.loads(_text(archive, JOB))
    spec = strict_json.loads(_text(archive, SPEC))
    if not isinstance(job, dict) or spec_to_json(parse_spec(spec)) != job.get("spec"):
        raise _refused(f"/{SPEC}", "is not the spec of the job")
    files = {name: member for name, member in members.items() if name.startswith(FILES)}
    manifest = None
    if MANIFEST in files:
        # Checkpoints are of the training, not of its result.
        unlisted = {MANIFEST, *_files_of_role("checkpoint", _text(archive, METADATA))}
        stored = {name.removeprefix(FILES): digests[name] for name in files if name not in unlisted}
        check_stored(_text(archive, MANIFEST), stored)
        manifest = digests[MANIFEST]
    size = sum(member.file_size for member in files.values())
    return VerifiedArchive(job["id"], job["name"], job["state"], len(files), size, manifest)


def _problems_of_names(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]
) -> Iterator[Problem]:
    """Yields names that could leave a folder, members twice or compressed, and what is missing."""
    if len(archive.infolist()) != len(members):
        yield Problem("", "repeated", "a name occurs twice")
    if len(members) > _MOST_MEMBERS:
        yield Problem("", "too_large", f"more than {_MOST_MEMBERS:,} files")
        return
    for name, member in members.items():
        file = name.removeprefix(FILES)
        if name not in _NEEDED and (name == file or not re.fullmatch(FILE_NAME, file)):
            yield Problem("", "unknown_file", f"{name[:100]!r} does not belong into an archive")
        elif member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            yield Problem(f"/{name}", "compressed", "is compressed or encrypted; archives are not")
    for name in _NEEDED:
        if name not in members:
            yield Problem(f"/{name}", "missing", "is missing")


def _problems_of_checksums(text: bytes, digests: dict[str, str]) -> Iterator[Problem]:
    listed: dict[str, str] = {}
    for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            yield Problem(f"/{CHECKSUMS}", "wrong_form", f"line {number} is no checksum")
        else:
            listed[match[2]] = match[1]
    for name, digest in digests.items():
        if name == CHECKSUMS:
            continue
        if name not in listed:
            yield Problem(f"/{name}", "unlisted", "has no checksum")
        elif listed[name] != digest:
            detail = f"has the SHA-256 {digest}; {CHECKSUMS} says {listed[name]}"
            yield Problem(f"/{name}", "wrong_sha256", detail)
    for name in listed:
        if name not in digests:
            yield Problem(f"/{name[:100]}", "missing", "has a checksum, but is missing")


def _files_of_role(role: str, metadata: bytes) -> set[str]:
    crate = strict_json.loads(metadata)
    if not isinstance(crate, dict) or not isinstance(crate.get("@graph"), list):
        raise _refused(f"/{METADATA}", "is no metadata of an RO-Crate")
    parts = [part for part in crate["@graph"] if isinstance(part, dict)]
    return {str(part.get("@id")) for part in parts if part.get("description") == role}


def _digest(archive: zipfile.ZipFile, name: str) -> str:
    digest = hashlib.sha256()
    with archive.open(name) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _text(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _LARGEST_TEXT:
        raise _refused(f"/{name}", f"is larger than {_LARGEST_TEXT:,} bytes")
    return archive.read(name)


def _refused(pointer: str, detail: str) -> InvalidInput:
    return _invalid([Problem(pointer, "invalid_archive", detail)])


def _invalid(problems: list[Any]) -> InvalidInput:
    return InvalidInput(problems, "the archive is not valid")
