"""The embedded broker: found, private, durable enough for hints, and gone with its starter."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ipulse.stack.program_log import ProgramLog
from ipulse.stack.redis_server import (
    MAX_SOCKET_PATH,
    RedisServer,
    socket_path,
)
from ipulse_core.errors import Unavailable
from tests.ipulse.stack.guarded import DEADLINE, Watched


def redis_at(directory: Path, program: Path | None = None) -> RedisServer:
    return RedisServer(directory / "redis", ProgramLog(directory / "redis.log"), program)


def ask(server: RedisServer, command: str) -> str:
    """The first 64 KiB of the answer to an inline command."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE)
        connection.connect(str(server.socket))
        connection.sendall(command.encode() + b"\r\n")
        return connection.recv(65_536).decode()


@pytest.mark.parametrize("runs", [False, True])
def test_messages_that_cannot_be_read_are_set_aside(short_directory: Path, runs: bool) -> None:
    server = redis_at(short_directory)
    server.start()
    assert ask(server, "RPUSH cpu hint") == ":1\r\n"
    server.stop()
    stored = [path for path in (short_directory / "redis").rglob("*.aof") if path.stat().st_size]
    for path in stored:
        path.write_bytes(b"no command" + path.read_bytes())
    if runs:  # as under a supervisor
        assert server.launch().wait(DEADLINE) != 0
        server.relaunch()
        while not server._answers():
            assert server.process
            assert server.process.poll() is None
    else:
        server.start()
    assert ask(server, "LLEN cpu") == ":0\r\n"
    server.stop()
    assert list((short_directory / "redis").glob("*.unreadable"))


def test_messages_outlive_a_killed_server(short_directory: Path) -> None:
    server = redis_at(short_directory)
    server.start()
    assert ask(server, "RPUSH cpu hint") == ":1\r\n"
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait(DEADLINE)
    server.relaunch()
    server.stop()
    server.start()
    assert ask(server, "LLEN cpu") == ":1\r\n"
    server.stop()


class TestSocketPath:
    def test_is_in_the_data_directory_if_the_path_fits(self) -> None:
        assert socket_path(Path("/srv/ipulse/redis")) == Path("/srv/ipulse/redis/redis.sock")

    def test_a_long_one_moves_to_the_same_short_place_every_time(self) -> None:
        directory = Path("/home") / ("long" * 30) / "redis"
        path = socket_path(directory)
        assert len(os.fsencode(path)) <= MAX_SOCKET_PATH
        assert path == socket_path(directory)
        assert path != socket_path(directory.with_name("other"))

    def test_length_is_in_bytes(self) -> None:
        directory = Path("/home") / ("ü" * 50) / "redis"
        assert len(str(directory / "redis.sock")) <= MAX_SOCKET_PATH
        assert socket_path(directory).parent != directory


class TestServer:
    def test_answers_and_keeps_its_queue_over_a_restart(self, short_directory: Path) -> None:
        server = redis_at(short_directory)
        server.start()
        assert ask(server, "LPUSH queue message") == ":1\r\n"
        server.stop()
        server.start()
        assert "message" in ask(server, "LRANGE queue 0 -1")
        server.stop()
        assert not server.socket.exists()

    def test_only_this_user_can_reach_it(self, short_directory: Path) -> None:
        server = redis_at(short_directory)
        server.start()
        assert stat.S_IMODE(server.socket.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(server.socket.stat().st_mode) == 0o700
        assert "\r\n0\r\n" in ask(server, "CONFIG GET port")
        server.stop()

    def test_drops_nothing_and_writes_no_snapshots(self, short_directory: Path) -> None:
        server = redis_at(short_directory)
        server.start()
        assert "noeviction" in ask(server, "CONFIG GET maxmemory-policy")
        assert "everysec" in ask(server, "CONFIG GET appendfsync")
        assert ask(server, "CONFIG GET save").split("\r\n")[-2] == ""
        server.stop()

    def test_a_long_home_works_and_leaves_nothing_behind(self, tmp_path: Path) -> None:
        home = tmp_path / ("long" * 30)
        home.mkdir()
        server = redis_at(home)
        server.start()
        assert ask(server, "PING") == "+PONG\r\n"
        assert stat.S_IMODE(server.socket.parent.stat().st_mode) == 0o700
        server.stop()
        assert not server.socket.parent.exists()

    def test_a_directory_readable_by_others_is_refused(self, short_directory: Path) -> None:
        (short_directory / "redis").mkdir(mode=0o755)
        with pytest.raises(Unavailable, match="private to this user"):
            redis_at(short_directory).start()

    def test_a_link_put_in_the_short_directorys_place_is_refused(self, tmp_path: Path) -> None:
        home = tmp_path / ("long" * 30)
        home.mkdir()
        server = redis_at(home)
        server.socket.parent.symlink_to(tmp_path)
        with pytest.raises(Unavailable, match="private to this user"):
            server.start()
        server.socket.parent.unlink()

    def test_a_server_that_ends_at_once_is_an_error_with_its_log(
        self, short_directory: Path
    ) -> None:
        program = short_directory / "redis-server"
        program.write_text("#!/bin/sh\necho cannot start here\nexit 3\n")
        program.chmod(0o700)
        with pytest.raises(Unavailable, match="cannot start here"):
            redis_at(short_directory, program).start()

    def test_ends_with_its_starter(self, short_directory: Path) -> None:
        code = f"""
            import time
            from pathlib import Path
            from ipulse.stack.program_log import ProgramLog
            from ipulse.stack.redis_server import RedisServer
            server = RedisServer(
                Path({str(short_directory / "redis")!r}),
                ProgramLog(Path({str(short_directory / "log")!r})),
            )
            server.start()
            print(server.process.pid, flush=True)
            time.sleep(600)
            """
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
        ) as starter:
            assert starter.stdout is not None
            server = Watched(int(starter.stdout.readline()))
            starter.kill()
        assert server.ends()
