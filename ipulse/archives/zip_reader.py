"""Reads the zip of an archive, and trusts nothing that it contains."""

from __future__ import annotations

import hashlib
import io
import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.events import FILE_NAME

from .layout import CHECKSUMS, FILES, NEEDED

MAX_MEMBERS = 1000
_MAX_TEXT = 2**24  # bytes of a member that is read as a whole
_MAX_EVENTS = 2**27  # bytes of events.jsonl
_BLOCK = 2**20  # bytes; the directory of a zip is not larger, either
_LOCAL_HEADER = 30  # bytes of it before the member's name
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


class ZipReader:
    """An open zip with the names of an archive and without compressed members."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        """Check the directory of a file of `size` bytes. Raises InvalidInput with every problem."""
        self._zip = archive
        self.sizes = {member.filename: member.file_size for member in archive.infolist()}
        self.digests: dict[str, str] = {}  # SHA-256 by name, known after `check_sums`
        problems = list(_problems_of_names(archive.infolist(), size))
        if problems:
            raise _invalid(problems)

    def check_sums(self) -> None:
        """Read all members and compare them with their checksums. Raises InvalidInput."""
        for name in self.sizes:
            if name != CHECKSUMS:
                self.digests[name] = self._digest(name)
        problems = list(_problems_of_checksums(self.text(CHECKSUMS), self.digests))
        if problems:
            raise _invalid(problems)

    def text(self, name: str) -> bytes:
        """Return the content of a small member."""
        if self.sizes[name] > _MAX_TEXT:
            raise invalid(f"/{name}", "too_large", f"is larger than {_MAX_TEXT:,} bytes")
        return b"".join(self.blocks(name))

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a member."""
        if self.sizes[name] > _MAX_EVENTS:
            raise invalid(f"/{name}", "too_large", f"is larger than {_MAX_EVENTS:,} bytes")
        with self._zip.open(name) as file:
            yield from file

    def blocks(self, name: str) -> Iterator[bytes]:
        """Yield the content of a member in blocks."""
        with self._zip.open(name) as file:
            while block := file.read(_BLOCK):
                yield block

    def offset(self, name: str) -> int:
        """Return where the content of a member begins in the file."""
        file = self._zip.fp
        assert file is not None  # noqa: S101 - it is open
        begin = self._zip.getinfo(name).header_offset
        file.seek(begin)
        name_bytes, extra_bytes = struct.unpack("<HH", file.read(_LOCAL_HEADER)[-4:])
        return begin + _LOCAL_HEADER + int(name_bytes) + int(extra_bytes)

    def _digest(self, name: str) -> str:
        digest = hashlib.sha256()
        for block in self.blocks(name):
            digest.update(block)
        return digest.hexdigest()


class _BoundedFile(io.FileIO):
    """A file that is read in small parts: the directory of a zip may claim any size."""

    def read(self, size: int | None = -1) -> bytes:
        """Reads at most `_BLOCK` bytes. Raises BadZipFile if more are asked for and there."""
        if size is not None and 0 <= size <= _BLOCK:
            return super().read(size)
        content = super().read(_BLOCK + 1)
        if len(content) > _BLOCK:
            raise zipfile.BadZipFile("its directory is too large")
        return content


@contextmanager
def opened_zip(path: Path) -> Iterator[ZipReader]:
    """Open an archive of a job and check its directory. Raises InvalidInput."""
    try:
        with _BoundedFile(str(path)) as file, zipfile.ZipFile(file) as archive:
            yield ZipReader(archive, path.stat().st_size)
    except OSError as error:
        raise invalid("", "unreadable", f"{path.name}: {error.strerror}") from error
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError) as error:
        detail = f"this is no archive of a job, or it is damaged: {error}"
        raise invalid("", "invalid_archive", detail) from error


def invalid(pointer: str, code: str, detail: str) -> InvalidInput:
    """Return the error of one problem."""
    return _invalid([Problem(pointer, code, detail)])


def _invalid(problems: list[Problem]) -> InvalidInput:
    return InvalidInput(problems, "the archive is not valid")


def _problems_of_names(members: list[zipfile.ZipInfo], size: int) -> Iterator[Problem]:
    """Yields names that could leave a folder, members that claim too much, and what is missing."""
    names = {member.filename for member in members}
    if len(members) != len(names):
        yield Problem("", "repeated", "a name occurs twice")
    if len(members) > MAX_MEMBERS:
        yield Problem("", "too_large", f"more than {MAX_MEMBERS:,} files")
        return
    if sum(member.file_size for member in members) > size:
        yield Problem("", "overlapping", "its files together are larger than the archive")
    for member in members:
        name = member.filename
        file = name.removeprefix(FILES)
        if name not in NEEDED and (name == file or not re.fullmatch(FILE_NAME, file)):
            yield Problem("", "unknown_file", f"{name[:100]!r} does not belong into an archive")
        elif (
            member.compress_type != zipfile.ZIP_STORED
            or member.compress_size != member.file_size
            or member.flag_bits & 1
        ):
            yield Problem(f"/{name}", "compressed", "is compressed or encrypted; archives are not")
    for name in NEEDED:
        if name not in names:
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
        if name not in listed:
            yield Problem(f"/{name}", "unlisted", "has no checksum")
        elif listed[name] != digest:
            detail = f"has the SHA-256 {digest}; {CHECKSUMS} says {listed[name]}"
            yield Problem(f"/{name}", "wrong_sha256", detail)
    for name in listed:
        if name not in digests:
            yield Problem(f"/{name[:100]}", "missing", "has a checksum, but is missing")
