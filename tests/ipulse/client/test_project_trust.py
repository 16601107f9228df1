"""An ipulse.toml that others could write decides nothing without its user."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from ipulse.client import project_trust
from ipulse.client.location import find_service
from ipulse.client.project_trust import UntrustedProject

URL = "http://127.0.0.1:9"


class Terminal(io.StringIO):
    """A terminal on which a user answers."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder below one with an ipulse.toml, as the working directory."""
    project = tmp_path / "project"
    inner = project / "experiments"
    inner.mkdir(parents=True)
    (project / "ipulse.toml").write_text(f'url = "{URL}"\ntoken_file = "token"\n')
    (project / "token").write_text("a-token")
    for path in (project, project / "ipulse.toml"):
        path.chmod(0o700)
    monkeypatch.chdir(inner)
    return project


def found(folder: Path) -> str:
    return find_service(environment={"HOME": str(folder.parent / "home")}).url


def test_a_file_that_only_its_user_writes_is_used(folder: Path) -> None:
    assert found(folder) == URL


@pytest.mark.parametrize("place", ["folder", "file"])
def test_one_that_everybody_writes_is_refused_without_a_terminal(folder: Path, place: str) -> None:
    (folder if place == "folder" else folder / "ipulse.toml").chmod(0o777)
    with pytest.raises(UntrustedProject) as caught:
        found(folder)
    detail = caught.value.problems[0].detail
    assert URL in detail
    assert "--url" in detail
    assert "chmod go-w" in detail


def test_one_of_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The file belongs to the user of this process, who is now another one.
    monkeypatch.setattr(os, "getuid", lambda: 54_321)
    if folder.stat().st_uid == 0:
        os.chown(folder / "ipulse.toml", 54_322, -1)
    with pytest.raises(UntrustedProject, match="belongs to"):
        found(folder)


def test_who_accepts_it_once_is_not_asked_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.chmod(0o777)
    shown = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("yes\n"))
    monkeypatch.setattr(sys, "stderr", shown)
    assert found(folder) == URL
    assert URL in shown.getvalue()
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert found(folder) == URL
    # Another content is another question.
    (folder / "ipulse.toml").write_text('url = "http://127.0.0.1:10"\ntoken_file = "token"\n')
    with pytest.raises(UntrustedProject):
        found(folder)


def test_who_declines_sends_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o777)
    monkeypatch.setattr(sys, "stdin", Terminal("\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(UntrustedProject):
        found(folder)
    assert project_trust.who_could_write(folder / "ipulse.toml") is not None


def test_another_address_does_not_need_it(folder: Path) -> None:
    folder.chmod(0o777)
    environment = {"HOME": str(folder), "IPULSE_URL": "http://127.0.0.1:11", "IPULSE_TOKEN": "t"}
    assert find_service(environment=environment).url == "http://127.0.0.1:11"
