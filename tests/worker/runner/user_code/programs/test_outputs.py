"""The files of a program are stored under names of their own; forged reports harm nothing."""

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest

from ipulse_worker.runner.user_code.programs import outputs as program_outputs
from ipulse_worker.runner.user_code.programs.outputs import (
    REPORTS,
    exception_of,
    outputs,
    total_cycles,
)


def write(folder: Path, files: Dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def stored(
    folder: Path, package: Optional[Dict[str, str]] = None, left_out: Optional[List[str]] = None
) -> Dict[str, str]:
    """Return the files that are stored with their roles."""
    names = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    leave_out = [].append if left_out is None else left_out.append
    return {file.name: file.role for file in outputs(folder, names, package or {}, leave_out)}


def test_files_as_in_the_package_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {"same.cpp": b"given", "changed.cpp": b"other", "new.txt": b"new"})
    given = hashlib.sha256(b"given").hexdigest()
    assert stored(tmp_path, {"same.cpp": given, "changed.cpp": given}) == {
        "changed.cpp": "output",
        "new.txt": "output",
    }


def test_each_engine_has_a_profile(tmp_path: Path) -> None:
    write(tmp_path, {f"{REPORTS}/{place}profile.json": b"{}" for place in ("", "2/", "10/")})
    write(tmp_path, {f"{REPORTS}/summary.txt": b"", f"{REPORTS}/other/profile.json": b"{}"})
    assert list(stored(tmp_path)) == [
        "poplar_profile.json",
        "summary.txt",
        "engine-2-profile.json",
        "engine-3-profile.json",
    ]


def test_names_replace_none_of_the_runner_and_none_of_another(tmp_path: Path) -> None:
    given = ("report.html", "a/b", "a-b", "package", "manifest.json", "out/report.html")
    write(tmp_path, {name: name.encode() for name in given})
    names = list(stored(tmp_path))
    assert len(set(names)) == len(given)
    assert not set(names) & {"report.html", "manifest.json", "package", "out", "build"}
    assert not any("/" in name for name in names)


def test_only_so_many_are_stored(tmp_path: Path) -> None:
    write(tmp_path, {f"{number}.txt": b"" for number in range(program_outputs.MAX_OUTPUTS + 5)})
    left_out: List[str] = []
    assert len(stored(tmp_path, left_out=left_out)) == program_outputs.MAX_OUTPUTS
    assert len(left_out) == 5


@pytest.mark.old_python
def test_names_beyond_ascii_are_stored_under_plain_ones(tmp_path: Path) -> None:
    write(tmp_path, {"Größe (1).csv": b"1", "結果.txt": b"2"})
    assert {Path(name).suffix for name in stored(tmp_path)} == {".csv", ".txt"}


@pytest.mark.parametrize(
    ("total", "cycles"),
    [(12, 12), (12.0, 12), (-1, None), (10**400, None), (float("inf"), None), ({}, None)],
)
def test_cycles_are_read_unless_they_are_forged(
    total: Any, cycles: Optional[int], tmp_path: Path
) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({"execution": {"totalCycles": {"total": total}}}))
    assert total_cycles(path) == cycles


@pytest.mark.parametrize(
    "content", [b"", b"[" * 100_000, b"\xff", b"[]", b"1", b'{"execution": 1}']
)
def test_a_document_that_is_none_is_ignored(content: bytes, tmp_path: Path) -> None:
    write(tmp_path, {f"{REPORTS}/exception.json": content})
    assert exception_of(tmp_path) is None
    assert total_cycles(tmp_path / REPORTS / "exception.json") is None


def test_a_large_document_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = json.dumps({"type": "poplar_error", "message": "wrong"}).encode()
    write(tmp_path, {f"{REPORTS}/exception.json": document})
    assert exception_of(tmp_path) == "poplar_error: wrong"
    monkeypatch.setattr(program_outputs, "MAX_EXCEPTION_BYTES", len(document) - 1)
    assert exception_of(tmp_path) is None
