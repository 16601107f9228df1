"""Source packages: a folder of program text as one tar archive, known by its SHA-256.

An archive holds regular files alone, under plain relative names and in one order, without owners
and times: equal folders give equal bytes. Whoever receives one checks it again.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from pathlib import Path
from typing import IO, Dict, Iterator, List, NamedTuple, Set, Tuple

from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.input_files import SPECIAL, InputFolder, list_folder

MAX_BYTES = 16 * 2**20  # of an archive
MAX_FILES = 1000
MAX_DEPTH = 8  # folders in folders
MAX_NAME = 100  # characters of a path, as old tar allows
PREFIX = "sha256:"
REFERENCE = r"^sha256:[0-9a-f]{64}$"
# A part of a path: no hidden files, nothing that a shell or an option parser would read otherwise.
PART = r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}"
PATH = rf"^{PART}(/{PART}){{0,{MAX_DEPTH - 1}}}$"
_PART = re.compile(PART)
_IGNORED = ("__pycache__", "build")


class InvalidPackage(InvalidInput):
    """The source package is not valid."""

    code = "invalid_package"


class PackedFile(NamedTuple):
    """A file of a package."""

    name: str  # with / between folders
    content: bytes


class SourceFolder(NamedTuple):
    """The files of a folder."""

    files: List[PackedFile]  # in order
    found: InputFolder  # with what is not among them


def read_folder(folder: Path, follow_outside: bool = False) -> SourceFolder:
    """Return the files of a folder; hidden ones, `build` and `__pycache__` are left out.

    Symbolic links are followed; those that leave the folder only with `follow_outside`.

    Raises InvalidPackage for a folder that cannot be a package, and OSError.
    """
    if not folder.is_dir():
        raise _invalid(f"{folder} is not a folder")
    try:
        found = list_folder(folder, follow_outside, _IGNORED)
    except InvalidInput as error:
        raise _invalid("; ".join(problem.detail for problem in error.problems)) from error
    special = found.skipped.get(SPECIAL)
    if special:
        raise _invalid(f"{special[0]} is not a regular file")
    files: List[PackedFile] = []
    size = 0
    for file in found.files:
        _check_name(file.name)
        size += file.path.stat().st_size
        _check_size(len(files) + 1, size)
        files.append(PackedFile(file.name, file.path.read_bytes()))
    if not files:
        raise _invalid(f"{folder} has no files. {found.skipped_text()}".strip())
    return SourceFolder(files, found)


def write_package(files: List[PackedFile], out: IO[bytes]) -> None:
    """Write the archive of these files. Raises InvalidPackage if it is too large."""
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for file in files:
            info = tarfile.TarInfo(file.name)
            info.size = len(file.content)
            info.mode = 0o644
            archive.addfile(info, io.BytesIO(file.content))
    if out.tell() > MAX_BYTES:
        raise _invalid(_TOO_LARGE)


def check_package(path: Path) -> List[str]:
    """Return the names of an archive's files. Raises InvalidPackage, and OSError."""
    return [name for name, _ in _files(path)]


def read_package(path: Path) -> Dict[str, bytes]:
    """Return the contents of an archive's files by name. Raises InvalidPackage, and OSError."""
    return dict(_files(path))


def unpack_package(path: Path, digest: str, folder: Path) -> Dict[str, str]:
    """Unpack an archive with a known SHA-256 into a new folder; return the files' SHA-256.

    Raises InvalidPackage, also for another digest, and OSError.
    """
    content = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b""
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise _invalid(f"its content has the digest {found} and not {digest}")
    folder.mkdir(mode=0o700)
    digests = {}
    for name, bytes_ in _files(path):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(bytes_)
        digests[name] = hashlib.sha256(bytes_).hexdigest()
    return digests


def _files(path: Path) -> Iterator[Tuple[str, bytes]]:
    if path.stat().st_size > MAX_BYTES:
        raise _invalid(_TOO_LARGE)
    names: Set[str] = set()
    size = 0
    try:
        with tarfile.open(str(path), "r:") as archive:  # never compressed
            for info in archive:
                _check_member(info)
                if info.name in names or any(
                    info.name.startswith(f"{name}/") or name.startswith(f"{info.name}/")
                    for name in names
                ):
                    raise _invalid(f"{info.name!a} is there twice, or both file and folder")
                names.add(info.name)
                size += info.size
                _check_size(len(names), size)
                content = archive.extractfile(info)
                bytes_ = b"" if content is None else content.read()
                if len(bytes_) != info.size:
                    raise _invalid(f"{info.name!a} is cut short")
                yield info.name, bytes_
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise _invalid(f"it is not a tar archive without compression: {error}") from error
    if not names:
        raise _invalid("it holds no files")


def _check_member(info: tarfile.TarInfo) -> None:
    if not info.isreg() or info.issparse() or info.linkname:
        raise _invalid(f"{info.name[:MAX_NAME]!a} is not a regular file")
    if info.pax_headers:
        raise _invalid(f"{info.name[:MAX_NAME]!a} has extended headers")
    _check_name(info.name)


def _check_name(name: str) -> None:
    parts = name.split("/")
    if len(name) > MAX_NAME or len(parts) > MAX_DEPTH or not all(map(_PART.fullmatch, parts)):
        raise _invalid(
            f"{name[:MAX_NAME]!a} is not allowed as a name: at most {MAX_NAME} letters, digits "
            "and ._+- in each part"
        )


def _check_size(files: int, size: int) -> None:
    if files > MAX_FILES:
        raise _invalid(f"it has more than {MAX_FILES:,} files")
    if size > MAX_BYTES:
        raise _invalid(_TOO_LARGE)


_TOO_LARGE = f"it has more than {MAX_BYTES // 2**20} MiB"


def _invalid(detail: str) -> InvalidPackage:
    return InvalidPackage([Problem("", "invalid_package", detail)])
