"""A home is private, belongs to one stack at a time, and keeps its tokens."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ipulse.stack.home import Home
from ipulse_core.errors import Conflict, Unavailable
from tests.worker.disks import small_disk


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state" / "ipulse")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_home_is_private_with_any_umask(home: Home) -> None:
    former = os.umask(0)
    try:
        home.open()
    finally:
        os.umask(former)
    assert mode(home.path) == 0o700
    assert mode(home.token_file) == mode(home.agent_key_file) == 0o600
    assert mode(home.agent_token_file("agent")) == 0o600
    assert mode(home.path / "logs") == 0o700
    home.close()


def test_tokens_are_long_distinct_and_permanent(home: Home) -> None:
    home.open()
    tokens = [home.token_file.read_text(), home.agent_key_file.read_text()]
    home.close()
    home.open()
    assert [home.token_file.read_text(), home.agent_key_file.read_text()] == tokens
    assert tokens[0] != tokens[1]
    assert all(len(token.strip()) >= 43 for token in tokens)
    home.close()


def test_a_partly_written_token_is_replaced(home: Home) -> None:
    home.path.mkdir(mode=0o700, parents=True)
    (home.path / ".token.draft").write_text("half")
    home.open()
    assert len(home.token_file.read_text().strip()) >= 43
    assert not (home.path / ".token.draft").exists()
    home.close()


def test_a_locked_home_names_the_process(home: Home) -> None:
    home.open()
    code = (
        "import sys; from pathlib import Path; from ipulse.stack.home import Home\n"
        "Home(Path(sys.argv[1])).open()"
    )
    command = [sys.executable, "-c", code, str(home.path)]
    refused = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3]
    )
    assert refused.returncode != 0
    assert f"in use by the stack of process {os.getpid()}" in refused.stderr
    home.close()
    subprocess.run(command, check=True, cwd=Path(__file__).parents[3])


def test_a_home_that_was_closed_can_be_opened_again(home: Home) -> None:
    home.open()
    with pytest.raises(Conflict):
        Home(home.path).open()
    home.close()
    again = Home(home.path)
    again.open()
    again.close()


def test_a_home_readable_by_others_is_refused_unchanged(home: Home) -> None:
    home.path.mkdir(parents=True)
    home.path.chmod(0o755)
    with pytest.raises(Unavailable, match="chmod 700"):
        home.open()
    assert mode(home.path) == 0o755
    assert list(home.path.iterdir()) == []


def test_the_address_of_a_dead_stack_is_removed(home: Home) -> None:
    home.path.mkdir(mode=0o700, parents=True)
    home.server_file.write_text('{"url": "http://127.0.0.1:1", "pid": 1}')
    home.open()
    assert not home.server_file.exists()
    home.close()


def test_a_home_that_cannot_be_created_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match=r"cannot be created \(.*--home or IPULSE_HOME"):
        Home(tmp_path / "file" / "home").open()


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    """Each time with a little more room, until everything fits."""
    named = set()
    for kibibytes in range(4, 64, 4):
        with small_disk(tmp_path / str(kibibytes), f"size={kibibytes}k,mode=0700") as disk:
            filler = disk / "filler"
            filler.write_bytes(bytes(4096))
            home = Home(disk / "home")
            try:
                home.open()
            except OSError as error:
                named.add(error.filename)
            else:
                home.close()
                break
    assert all(str(path).startswith(str(tmp_path)) for path in named), named
    assert {"token", "agent-key"} & {Path(path).name for path in named}, named
