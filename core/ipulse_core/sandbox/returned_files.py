"""Reads the files that a sandbox returns: a tar stream that the program inside may have forged.

The parser reads old tar headers and long names only, and holds a few blocks in memory: an archive
cannot make it need more, write outside of its folder or write more than the limits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, List, NamedTuple, Optional

MAX_FILES = 1000
MAX_MEMBERS = 100_000  # after which the list is not read on
MAX_SKIPPED = 100  # with a sentence each
MAX_DEPTH = 8
MAX_PART_BYTES = 255  # of a file system
BLOCK = 512
_MAX_NAME_BYTES = 4096
_CHUNK_BLOCKS = 256
_REGULAR = (b"0", b"\0")
_FOLDER, _LONG_NAME = b"5", b"L"


@dataclass
class ReturnedFiles:
    """The files that a sandbox returned."""

    names: List[str] = field(default_factory=list)  # written, with / between folders
    skipped: List[str] = field(default_factory=list)  # sentences about others
    left_out: int = 0  # how many others there are

    def leave_out(self, sentence: str) -> None:
        """Count a file that is not written; the first ones have sentences."""
        self.left_out += 1
        if self.left_out <= MAX_SKIPPED:
            self.skipped.append(sentence)
        elif self.left_out == MAX_SKIPPED + 1:
            self.skipped.append(f"more than {MAX_SKIPPED}; the others are only counted")


class _Header(NamedTuple):
    name: bytes
    size: int
    kind: bytes


def read_files(stream: BinaryIO, folder: Path, max_bytes: int) -> ReturnedFiles:
    """Write the regular files of a stream to a folder, as far as they are within the limits.

    Raises OSError if they cannot be written.
    """
    found = ReturnedFiles()
    left = max_bytes
    long_name: Optional[bytes] = None
    for _ in range(MAX_MEMBERS):
        block = _read(stream, BLOCK)
        if len(block) < BLOCK or not any(block):
            return found
        header = _parse(block)
        if header is None:
            found.leave_out("the rest of the files: the program has changed their list")
            return found
        if header.kind == _LONG_NAME and header.size <= _MAX_NAME_BYTES:
            long_name = _read(stream, _padded(header.size))[: header.size].rstrip(b"\0")
            continue
        given, long_name = long_name or header.name, None
        target = _target(folder, header, given, left, found)
        if not _copy(stream, header.size, target):
            if header.size:
                found.leave_out(f"{_shown(given)} and what follows: the list ended early")
            return found
        if target is not None:
            left -= header.size
            found.names.append(target.relative_to(folder).as_posix())
    found.leave_out(f"the rest of more than {MAX_MEMBERS:,} files")
    return found


def _target(
    folder: Path, header: _Header, given: bytes, left: int, found: ReturnedFiles
) -> Optional[Path]:
    """Return where to write a file; None, with the reason in `found`, if it is not written."""
    if header.kind == _FOLDER:
        return None
    name = _plain(given)
    target: Optional[Path] = None
    if header.kind not in _REGULAR:
        found.leave_out(f"{_shown(given)} is a link, a socket or a device")
    elif name is None:
        found.leave_out(f"{_shown(given)} is hidden, or has a name that is not printable UTF-8")
    elif len(found.names) >= MAX_FILES:
        found.leave_out(f"{_shown(given)}: at most {MAX_FILES:,} files are stored")
    elif header.size > left:
        found.leave_out(f"{_shown(given)}: the limit of the files together is exceeded by it")
    else:
        target = _new(folder, name)
        if target is None:
            found.leave_out(f"{_shown(given)} is there twice, or both file and folder")
    return target


def _shown(name: bytes) -> str:
    text = name.decode("utf-8", "replace")
    return ascii(text[2:102] if text.startswith("./") else text[:100])


def _parse(block: bytes) -> Optional[_Header]:
    """Return the header in a block, None for one that is damaged."""
    try:
        checksum = int(block[148:156].strip(b" \0") or b"0", 8)
        size = int(block[124:136].strip(b" \0") or b"0", 8)
    except ValueError:
        return None
    if checksum != sum(block) - sum(block[148:156]) + 8 * ord(" ") or size < 0:
        return None
    name = block[:100].rstrip(b"\0")
    prefix = block[345:500].rstrip(b"\0") if block[257:262] == b"ustar" else b""
    whole = prefix + b"/" + name if prefix else name
    return _Header(whole, size, block[156:157])


def _plain(name: bytes) -> Optional[str]:
    """Return a relative path without hidden or unprintable parts, else None."""
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        return None
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if text.startswith("/") or not 0 < len(parts) <= MAX_DEPTH:
        return None
    if any(part.startswith(".") or len(part.encode()) > MAX_PART_BYTES for part in parts):
        return None
    return "/".join(parts) if text.isprintable() else None


def _new(folder: Path, name: str) -> Optional[Path]:
    """Return where to write a file, with its folder; None if another is in its way."""
    target = folder / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return None
    return None if target.exists() else target


def _copy(stream: BinaryIO, size: int, target: Optional[Path]) -> bool:
    """Copy or skip the content of a file; return whether it was complete."""
    if target is None:
        return _drain(stream, size)
    with target.open("xb") as file:
        left = size
        while left:
            wanted = min(left, BLOCK * _CHUNK_BLOCKS)
            chunk = _read(stream, _padded(wanted))
            if len(chunk) < wanted:
                break
            file.write(chunk[:wanted])
            left -= wanted
    if left:
        target.unlink()
    return not left


def _drain(stream: BinaryIO, size: int) -> bool:
    left = _padded(size)
    while left:
        chunk = stream.read(min(left, BLOCK * _CHUNK_BLOCKS))
        if not chunk:
            return False
        left -= len(chunk)
    return True


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _read(stream: BinaryIO, size: int) -> bytes:
    chunks: List[bytes] = []
    while size:
        chunk = stream.read(size)
        if not chunk:
            break
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)
