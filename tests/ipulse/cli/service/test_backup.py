"""backup, restore and migrate as commands, while a service runs and after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ipulse.cli.conftest import Run
from tests.ipulse.live_service import LiveService


def test_a_home_is_backed_up_and_restored(
    run: Run, service: LiveService, tmp_path: Path, spec_file: Path
) -> None:
    """The service runs: a backup is made, and no restore."""
    assert run("submit", str(spec_file)).code == 0
    home = ("--home", str(service.home))
    archive = tmp_path / "backup.tar"
    made = run("backup", str(archive), *home, "--json")
    assert made.code == 0, made.err
    assert made.json["jobs"] >= 1
    assert made.json["keys"] == ["token", "agent-key"]
    assert run("backup", str(archive), *home).code == 7
    checked = run("restore", str(archive), "--check", "--json")
    assert checked.code == 0
    assert checked.json["jobs"] == made.json["jobs"]

    service.home.chmod(0o700)
    in_use = run("restore", str(archive), "--replace", *home)
    assert in_use.code == 7
    assert "stop the service" in in_use.err

    new = tmp_path / "new"
    restored = run("restore", str(archive), "--home", str(new), "--json")
    assert restored.code == 0, restored.err
    assert (new / "token").read_text() == service.token
    again = run("restore", str(archive), "--home", str(new), "--json")
    assert again.json["was_there"]
    assert again.json["jobs"] == made.json["jobs"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["backup", "x.tar", "--home", "nowhere"], 3, "--home"),
        (["backup", "x.tar", "--project", "nowhere"], 3, "there is default"),
        (["restore", "nothing.tar"], 2, "No such file"),
        (["restore", "--check", __file__], 2, "no tar file"),
        (["migrate", "sqlite:///other.db"], 2, "postgresql://"),
        (["backup", "no/such/folder/x.tar"], 5, "cannot be written"),
    ],
)
def test_mistakes_are_explained(
    run: Run, tmp_path: Path, arguments: list[str], code: int, words: str, service: LiveService
) -> None:
    home = [] if "--home" in arguments else ["--home", str(service.home)]
    refused = run(*arguments, *home)
    assert refused.code == code
    assert words in refused.err
    assert "Traceback" not in refused.err
