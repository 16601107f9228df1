from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ipulse_worker.runner import provenance


def git(where: Path, *arguments: str) -> str:
    names = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    command = ["git", "-C", str(where), *names, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class TestGitRevision:
    def test_is_the_commit_and_whether_it_was_changed(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q")
        (tmp_path / "file").write_text("one")
        git(tmp_path, "add", "file")
        git(tmp_path, "commit", "-q", "-m", "One")
        commit = git(tmp_path, "rev-parse", "HEAD")
        clean = provenance.git_revision(tmp_path)
        assert clean == {"commit": commit, "modified": False, "why": None}
        (tmp_path / "file").write_text("two")
        assert provenance.git_revision(tmp_path)["modified"] is True

    def test_names_the_reason_without_a_revision(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        nowhere = provenance.git_revision(tmp_path)
        assert nowhere["commit"] is None
        assert "source checkout" in nowhere["why"]
        git(tmp_path, "init", "-q")
        unborn = provenance.git_revision(tmp_path)
        assert unborn["commit"] is None
        assert unborn["why"].startswith("git: fatal")
        monkeypatch.setenv("PATH", "")
        assert provenance.git_revision(tmp_path)["why"] == "git is not installed"
