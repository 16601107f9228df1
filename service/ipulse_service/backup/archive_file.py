"""The tar file of a backup. Its last member has the SHA-256 of all others."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ipulse_core.errors import Conflict, InvalidInput, Problem, Unavailable

SUMS, MANIFEST = "SHA256SUMS", "manifest.json"
CHUNK_BYTES = 2**20
_BLOCK = 512  # of a tar file
_NAME = re.compile(
    r"SHA256SUMS|manifest\.json|tables/[a-z_]{1,63}\.jsonl|files/[0-9a-f]{64}"
    r"|keys/[a-z][a-z-]{0,31}(\.pem)?"
)
_SUM = re.compile(r"([0-9a-f]{64})  (\S+)")


class TableFacts(BaseModel):
    """A table in the manifest: its columns, in the order of its rows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: tuple[str, ...]
    rows: int
    sha256: str  # of its rows, in order of the primary key
    last_key: int | None  # the greatest key that was ever given; None: keys are not counted


class Manifest(BaseModel):
    """The contents of a backup."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    version: str  # of the program that made it
    revision: str  # of the database's schema
    made_at: str  # RFC 3339
    tables: dict[str, TableFacts]
    keys: tuple[str, ...]
    missing: tuple[str, ...] = ()  # digests of files that the store lacked or had damaged
    project: str = ""  # its rows are in it; empty: all rows of a service


class MemberWriter:
    """Writes and hashes the content of one member."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0
        self.is_wanted = True  # False: the member is taken back

    @property
    def sha256(self) -> str:
        """The SHA-256 of what is written."""
        return self._hash.hexdigest()

    def write(self, content: bytes) -> None:
        """Appends to the member. Raises OSError."""
        self._file.write(content)
        self._hash.update(content)
        self.size += len(content)


class ArchiveWriter:
    """Writes the members of an archive; their sizes need not be known before."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sums: dict[str, str] = {}  # SHA-256 by name of the member

    @contextmanager
    def member(self, name: str) -> Iterator[MemberWriter]:
        """Opens a new member. Raises OSError."""
        start = self._file.tell()
        self._file.write(bytes(_BLOCK))
        member = MemberWriter(self._file)
        yield member
        if not member.is_wanted:
            self._file.seek(start)
            self._file.truncate()
            return
        self._file.write(bytes(-member.size % _BLOCK))
        end = self._file.tell()
        header = tarfile.TarInfo(name)
        header.size, header.mode, header.mtime = member.size, 0o600, int(time.time())
        self._file.seek(start)
        self._file.write(header.tobuf(tarfile.GNU_FORMAT))
        self._file.seek(end)
        self.sums[name] = member.sha256

    def end(self, manifest: Manifest) -> None:
        """Writes the manifest and the sums. Raises OSError."""
        with self.member(MANIFEST) as member:
            left_out = None if manifest.project else {"project"}  # earlier versions know none
            fields = manifest.model_dump(mode="json", exclude=left_out)
            text = json.dumps(fields, indent=1, sort_keys=True)
            member.write(text.encode() + b"\n")
        lines = [f"{sha256}  {name}\n" for name, sha256 in self.sums.items()]
        with self.member(SUMS) as member:
            member.write("".join(lines).encode())
        self._file.write(bytes(2 * _BLOCK))


@contextmanager
def new_archive(path: Path) -> Iterator[ArchiveWriter]:
    """Opens a new archive for its owner only; it appears under its name once it is complete.

    Raises Conflict if there is a file of this name, or another backup writes it, and Unavailable
    if the disk is full or the folder cannot be written.
    """
    if path.exists():
        raise Conflict(f"{path} exists: remove it, or give the backup another name")
    draft = path.with_name(f".{path.name}.draft")
    try:
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unwritable(path, error) from error
    with os.fdopen(descriptor, "w+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"another backup writes {path}: wait for its end") from None
        is_complete = False
        try:
            os.fchmod(descriptor, 0o600)
            file.truncate(0)  # of one that was killed
            yield ArchiveWriter(file)
            file.flush()
            os.fsync(descriptor)
            draft.rename(path)
            is_complete = True
            sync_folder(path.parent)
        except OSError as error:
            raise _unwritable(path, error) from error
        finally:
            if not is_complete:
                draft.unlink(missing_ok=True)
                with suppress(OSError):  # what a full disk did not take
                    file.close()


def sync_folder(path: Path) -> None:
    """Returns once the names in a folder are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class ArchiveReader:
    """Reads a backup that was checked."""

    def __init__(self, path: Path) -> None:
        """Checks the archive. Raises InvalidInput, which says what is wrong with it."""
        self._path = path
        try:
            self._tar = tarfile.open(path, "r:")  # noqa: SIM115 - `close` closes it
        except (OSError, tarfile.TarError) as error:
            reason = getattr(error, "strerror", None) or "it is no tar file"
            raise self._wrong(f"it cannot be read: {reason}") from error
        try:
            self._members = self._checked_members()
            self.manifest = self._read_manifest()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the file."""
        self._tar.close()

    @property
    def digests(self) -> list[str]:
        """The digests of the stored files in the archive."""
        return [name[len("files/") :] for name in self._members if name.startswith("files/")]

    def size(self, name: str) -> int:
        """Returns the size of a member in bytes."""
        return self._members[name].size

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yields the content of a member."""
        yield from self._chunks(self._members[name])

    def lines(self, name: str) -> Iterator[bytes]:
        """Yields the lines of a member."""
        file = self._tar.extractfile(self._members[name])
        yield from file or ()

    def _chunks(self, member: tarfile.TarInfo) -> Iterator[bytes]:
        file = self._tar.extractfile(member)
        while file is not None and (chunk := file.read(CHUNK_BYTES)):
            yield chunk

    def _checked_members(self) -> dict[str, tarfile.TarInfo]:
        members: dict[str, tarfile.TarInfo] = {}
        found: dict[str, str] = {}
        try:
            for member in self._tar:
                name = member.name
                is_plain = member.isreg() and not member.issparse()
                if not (is_plain and _NAME.fullmatch(name)) or name in members:
                    raise self._wrong(f"it has a member {name[:80]!r}, which no backup has")
                hasher = hashlib.sha256()
                for chunk in self._chunks(member):
                    hasher.update(chunk)
                members[name], found[name] = member, hasher.hexdigest()
        except (OSError, tarfile.TarError, EOFError, ValueError) as error:
            raise self._wrong("it is cut off or damaged") from error
        if SUMS not in members or members[SUMS].size > CHUNK_BYTES * 64:
            raise self._wrong(f"it is cut off or damaged: it has no {SUMS}")
        del found[SUMS]
        sums = self._sums(members[SUMS])
        for name in {**sums, **found}:
            if sums.get(name) != found.get(name):
                raise self._wrong(f"it is damaged: {name} is not as it was written")
        for name, sha256 in found.items():
            if name.startswith("files/") and name != f"files/{sha256}":
                raise self._wrong(f"it is damaged: {name} has other content")
        return members

    def _sums(self, member: tarfile.TarInfo) -> dict[str, str]:
        text = b"".join(self._chunks(member)).decode("utf-8", "replace")
        matches = [_SUM.fullmatch(line) for line in text.splitlines()]
        if not text.endswith("\n") or not all(matches):
            raise self._wrong(f"it is damaged: {SUMS} has a line that is none")
        return {match[2]: match[1] for match in matches if match}

    def _read_manifest(self) -> Manifest:
        if MANIFEST not in self._members:
            raise self._wrong(f"it has no {MANIFEST}")
        try:
            document = json.loads(b"".join(self.chunks(MANIFEST)))
            written = document["format"]
            if written != 1:
                raise self._wrong(
                    f"its format is {str(written)[:20]}, and this version reads 1: use the version "
                    f"{str(document.get('version'))[:40]} that made it"
                )
            manifest = Manifest.model_validate(document)
        except (ValueError, ValidationError, KeyError, TypeError, AttributeError) as error:
            raise self._wrong(f"its {MANIFEST} is not valid") from error
        wanted = {f"tables/{name}.jsonl" for name in manifest.tables}
        wanted |= {f"keys/{name}" for name in manifest.keys}
        there = {name for name in self._members if name.partition("/")[0] in ("tables", "keys")}
        if wanted != there:
            raise self._wrong("its members are not those of its manifest")
        return manifest

    def _wrong(self, why: str) -> InvalidInput:
        detail = (
            f"{self._path} is no backup that can be restored: {why}. Nothing was changed: "
            "use another copy of it, or another backup"
        )
        return InvalidInput([Problem("/archive", "invalid_archive", detail)], detail)


def _unwritable(path: Path, error: OSError) -> Unavailable:
    return Unavailable(
        f"the backup {path} cannot be written ({error.strerror}): free space there or choose "
        "another place. Nothing was left behind, and the service is untouched"
    )
