"""Reads the files that a sandbox returns: a tar stream that the program inside may have forged.

The parser reads old tar headers only, and holds one block in memory: an archive cannot make it need
more, write outside of its folder or write more than the limits.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO, List, NamedTuple, Optional

MAX_FILES = 1000
MAX_SKIPPED = 100
MAX_DEPTH = 8
BLOCK = 512
_CHUNK_BLOCKS = 256
_PART = re.compile(rb"[A-Za-z0-9_][A-Za-z0-9._+ -]{0,99}")
_REGULAR = (b"0", b"\0")


class ReturnedFiles(NamedTuple):
    """The files that a sandbox returned."""

    names: List[str]  # written, with / between folders
    skipped: List[str]  # sentences about others


class _Header(NamedTuple):
    name: bytes
    size: int
    is_regular: bool


def read_files(stream: BinaryIO, folder: Path, max_bytes: int) -> ReturnedFiles:
    """Write the regular files of a stream to a folder, as far as they are within the limits.

    Raises OSError if they cannot be written.
    """
    names: List[str] = []
    skipped: List[str] = []
    left = max_bytes
    while True:
        block = _read(stream, BLOCK)
        if len(block) < BLOCK or not any(block):
            return ReturnedFiles(names, skipped)
        header = _parse(block)
        if header is None:
            skipped.append("the rest of the files cannot be read: the program has changed the list")
            return ReturnedFiles(names, skipped)
        if len(skipped) == MAX_SKIPPED:
            skipped.append(f"the rest of the files: more than {MAX_SKIPPED} cannot be stored")
            return ReturnedFiles(names, skipped)
        name = _plain(header.name)
        shown = header.name.decode("ascii", "replace").lstrip("./")[:100]
        target: Optional[Path] = None
        if not header.is_regular:
            pass
        elif name is None:
            skipped.append(f"{shown!a} has a name with other characters than letters, digits, ._+-")
        elif len(names) >= MAX_FILES:
            skipped.append(f"more than {MAX_FILES:,} files: the others are not stored")
            return ReturnedFiles(names, skipped)
        elif header.size > left:
            skipped.append(f"{shown}: the files have more than {max_bytes:,} bytes together")
            return ReturnedFiles(names, skipped)
        else:
            target = _new(folder, name)
            if target is None:
                skipped.append(f"{name} is there twice, or both file and folder")
            else:
                left -= header.size
        if not _copy(stream, header.size, target):
            return ReturnedFiles(names, skipped)  # the stream ended early
        if target is not None and name is not None:
            names.append(name)


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
    return _Header(whole, size, block[156:157] in _REGULAR)


def _plain(name: bytes) -> Optional[str]:
    """Return a relative path without anything special in it, else None."""
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    if name.startswith(b"/") or not 0 < len(parts) <= MAX_DEPTH:
        return None
    if not all(map(_PART.fullmatch, parts)):
        return None
    return b"/".join(parts).decode("ascii")


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
