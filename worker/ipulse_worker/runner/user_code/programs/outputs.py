"""The files that a program left: profiles of its engines, and what else it wrote."""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from ipulse_core.data_sets import UPLOADED_FOLDER
from ipulse_core.events import Role

REPORTS = "poplar_reports"  # a folder in the program's own
MAX_OUTPUTS = 100
# A program may forge what its engines write: larger files are stored, but not read.
MAX_EXCEPTION_BYTES, MAX_PROFILE_BYTES = 2**16, 2**28
PROFILE, SUMMARY = "poplar_profile.json", "summary.txt"
_RESERVED = (PROFILE, SUMMARY, "report.html", "manifest.json", "package.tar")
_RESERVED_FOLDERS = ("package", "build", "out", "scratch", "initial", "converted", UPLOADED_FOLDER)
_OF_POPLAR = ("profile.pop", "debug.cbor")  # of an SDK: only read in a sandbox
MAX_OF_POPLAR = 20
_MEDIA = {".txt": "text/plain", ".json": "application/json", ".csv": "text/csv"}


class OutputFile(NamedTuple):
    """A file to store."""

    path: Path
    name: str
    role: Role
    media_type: str


def engine_reports(folder: Path) -> List[Path]:
    """Return the folders with the reports of the engines, in the order in which these ended."""
    reports = folder / REPORTS
    found = [path.parent for path in reports.glob("*/profile.json") if path.parent.name.isdigit()]
    first = [reports] if (reports / "profile.json").is_file() else []
    return [*first, *sorted(found, key=lambda path: int(path.name))]


def exception_of(folder: Path) -> Optional[str]:
    """Return the exception that the program did not catch, with its class."""
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        error = _document(folder / REPORTS / "exception.json", MAX_EXCEPTION_BYTES)
        return f"{str(error['type'])[:200]}: {str(error['message'])[:2000]}"
    return None


def total_cycles(path: Path) -> Optional[int]:
    """Return the emulated cycles of a profile, None where a program has forged it."""
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
        document = _document(path, MAX_PROFILE_BYTES)
        cycles = int(document["execution"]["totalCycles"]["total"])
        return cycles if 0 <= cycles < 2**63 else None
    return None


def _document(path: Path, max_bytes: int) -> Any:
    if path.stat().st_size > max_bytes:
        raise ValueError
    return json.loads(path.read_bytes())


def outputs(
    folder: Path,
    names: Iterable[str],
    package: Dict[str, str],
    leave_out: Callable[[str], None],
    is_emulated: bool = True,
    own: Sequence[OutputFile] = (),
) -> Iterator[OutputFile]:
    """Yield the files that a program wrote: those that are not as in its package.

    `own` come first, and take the place of the engines' reports.

    Only the emulator writes profile.json: a program on IPUs that has one wrote it itself, so that
    it is a file like others. `leave_out` is called with a sentence for each file above the limit.
    """
    taken = {*_RESERVED, *_RESERVED_FOLDERS, *(file.name for file in own)}
    yield from own
    reports = {name for name in names if name.startswith(f"{REPORTS}/")}
    if not is_emulated:
        of_poplar = dict(_of_poplar(sorted(reports)))
        reports = set(of_poplar)
        taken.update(of_poplar.values())
        for name, flat in of_poplar.items():
            yield OutputFile(folder / name, flat, "poplar_profile", "application/octet-stream")
    for engine, place in enumerate(engine_reports(folder) if is_emulated and not own else (), 1):
        role: Role = "poplar_profile" if engine == 1 else "output"
        for file, first, media_type in (
            ("profile.json", PROFILE, "application/json"),
            ("summary.txt", SUMMARY, "text/plain"),
        ):
            name = first if engine == 1 else f"engine-{engine}-{file}"
            taken.add(name)
            if (place / file).is_file():
                yield OutputFile(
                    place / file, name, role if first == PROFILE else "output", media_type
                )
    number = 0
    for name in sorted(names):
        path = folder / name
        if name in reports or _is_as_before(path, package.get(name)):
            continue
        number += 1
        if number > MAX_OUTPUTS:
            leave_out(f"{name!a}: at most {MAX_OUTPUTS} files are stored")
            continue
        stem, suffix = os.path.splitext(re.sub(r"[^A-Za-z0-9._-]", "-", name)[-100:])
        flat = _free((stem.lstrip("._-") or "file") + suffix, taken)
        taken.add(flat)
        media_type = _MEDIA.get(os.path.splitext(flat)[1], "application/octet-stream")
        yield OutputFile(path, flat, "output", media_type)


def _of_poplar(names: Iterable[str]) -> Iterator[Tuple[str, str]]:
    """Yield the files that an SDK's engines wrote, each with the name to store it under."""
    counts = dict.fromkeys(_OF_POPLAR, 0)
    for name in names:
        kind = name.rpartition("/")[2]
        if counts.get(kind, MAX_OF_POPLAR) < MAX_OF_POPLAR:
            counts[kind] += 1
            stem, _, suffix = kind.partition(".")
            yield name, kind if counts[kind] == 1 else f"{stem}_{counts[kind]}.{suffix}"


def _is_as_before(path: Path, sha256: Optional[str]) -> bool:
    if sha256 is None:
        return False
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(2**20), b""):
            digest.update(chunk)
    return digest.hexdigest() == sha256


def _free(name: str, taken: Iterable[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{number}-{name}"
    return free
