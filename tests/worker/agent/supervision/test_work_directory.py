"""Work directories are private, removed after use, and swept when their agents have died."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ipulse_core.errors import RemoteError
from ipulse_worker.agent.work_directory import (
    WorkDirectory,
    remove_of_attempt,
    sweep,
)


def test_it_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    with WorkDirectory(tmp_path, "att_1") as directory:
        assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
        (directory.path / "weights.npz").write_bytes(b"x")
    assert not directory.path.exists()


def test_it_is_gone_after_an_error_too(tmp_path: Path) -> None:
    directory = WorkDirectory(tmp_path, "att_1")
    with pytest.raises(ZeroDivisionError), directory:
        raise ZeroDivisionError
    assert not directory.path.exists()


def test_one_to_keep_stays_until_it_is_old(tmp_path: Path) -> None:
    with WorkDirectory(tmp_path, "att_1") as directory:
        directory.is_kept = True
    assert list(sweep(tmp_path)) == []
    os.utime(directory.path, (0, 0))
    assert list(sweep(tmp_path)) == [directory.path]
    assert not directory.path.exists()


def test_one_in_use_is_never_swept(tmp_path: Path) -> None:
    with WorkDirectory(tmp_path, "att_1") as directory:
        os.utime(directory.path, (0, 0))
        assert list(sweep(tmp_path)) == []
        assert directory.path.exists()


def test_that_of_an_attempt_that_is_over_is_removed_at_once(tmp_path: Path) -> None:
    with WorkDirectory(tmp_path, "att_1") as directory:
        directory.is_kept = True
        assert not remove_of_attempt(tmp_path, "att_1"), "it is in use"
    assert directory.path.exists()
    assert remove_of_attempt(tmp_path, "att_1")
    assert not directory.path.exists()
    assert remove_of_attempt(tmp_path, "att_1"), "it is gone already"
    for name in ("..", "", "a/b"):
        remove_of_attempt(tmp_path, name)
    assert tmp_path.exists()


def test_the_sweep_follows_no_link(tmp_path: Path) -> None:
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    root = tmp_path / "work"
    root.mkdir()
    (root / "att_1").symlink_to(treasure)
    assert list(sweep(root, keep_seconds=0)) == []
    assert treasure.exists()


def test_a_directory_removed_by_another_agent_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("att_1", "att_2"):
        (tmp_path / name).mkdir()
    # It is there when it is looked at, and gone the next moment.
    monkeypatch.setattr(Path, "is_dir", lambda _: True)
    swept = sweep(tmp_path, keep_seconds=0)
    first = next(swept)
    (tmp_path / {"att_1": "att_2", "att_2": "att_1"}[first.name]).rmdir()
    assert list(swept) == []


def test_a_directory_that_cannot_be_removed_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", refuse)
    with WorkDirectory(tmp_path, "att_1") as directory:
        pass
    os.utime(directory.path, (0, 0))
    assert list(sweep(tmp_path)) == []
    assert caplog.messages == ["work_directory_not_removed"] * 2


@pytest.mark.parametrize("name", ["", "..", "../escape", "a/b", "/etc", "a" * 200, "att\n1"])
def test_an_id_that_is_no_name_becomes_no_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(RemoteError):
        WorkDirectory(tmp_path, name)
