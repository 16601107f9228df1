"""Escapes that the sandbox prevents, and which of them Landlock does not, without namespaces.

This is why a worker that may make no namespaces says that it has no sandbox: there, a program would
fill the worker's disk and change the rights of files that it may only read. If a case of the second
kind fails, the kernel has learned it.
"""

import os
import socket
from pathlib import Path
from typing import Callable, Iterator, List, NamedTuple

import pytest

from ipulse_core.sandbox import bubblewrap
from ipulse_core.sandbox.unavailable import SandboxUnavailable
from tests.core.sandbox import landlocked
from tests.core.sandbox.place import LIMITS, Place

try:
    bubblewrap.require_bubblewrap()
except SandboxUnavailable as problem:
    pytest.skip(str(problem), allow_module_level=True)

TOO_MANY_FILES = bubblewrap.MAX_FILES + 1000
LEAST_ABI = 6  # scopes of signals and abstract sockets
requires_landlock = pytest.mark.skipif(
    landlocked.abi() < LEAST_ABI, reason=f"Landlock of this kernel is older than {LEAST_ABI}"
)


class Ended(NamedTuple):
    """A script that has ended."""

    lines: List[str]
    files: Callable[[], List[Path]]  # that it left


class Escapes:
    """Runs scripts with one driver; GIVEN is a folder that they may read."""

    def __init__(self, driver: str, place: Place) -> None:
        self.driver = driver
        self._place = place

    @property
    def given(self) -> Path:
        """The file that scripts may read."""
        return self._place.package / "given.txt"

    def run(self, script: str) -> Ended:
        if self.driver == "bubblewrap":
            self._place.run(f"GIVEN=/package; {script}", seconds=60)
            return Ended(self._place.lines, lambda: _files(self._place.out))
        work = self._place.folder / "work"
        work.mkdir()
        self._place.folder.chmod(0o711)
        for parent in list(self._place.folder.parents)[:2]:
            parent.chmod(parent.stat().st_mode | 0o011)
        package = self._place.package
        done = landlocked.run(work, [package, package / "given.txt"], f"GIVEN={package}; {script}")
        return Ended(done.stdout.splitlines(), lambda: _files(work))


@pytest.fixture(
    params=["bubblewrap", pytest.param("landlock", marks=requires_landlock)],
)
def escapes(request: pytest.FixtureRequest, place: Place) -> Escapes:
    return Escapes(request.param, place)


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_both_run_programs(escapes: Escapes) -> None:
    ended = escapes.run("cat $GIVEN/given.txt; echo; echo x > made; cat made")
    assert ended.lines == ["as given", "x"]


def test_both_hide_files_and_variables(escapes: Escapes, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("top secret")
    secret.chmod(0o644)
    ended = escapes.run(f"cat {secret} /etc/passwd /proc/{os.getpid()}/environ; ls / /proc/1/cwd/")
    text = "\n".join(ended.lines)
    assert "top secret" not in text
    assert "root:" not in text


def test_both_refuse_changes_of_content(escapes: Escapes) -> None:
    escapes.run(
        "echo worse > $GIVEN/given.txt; rm $GIVEN/given.txt; truncate -s 0 $GIVEN/given.txt"
    )
    assert escapes.given.read_text() == "as given"


def test_both_refuse_the_network(escapes: Escapes, port: int) -> None:
    program = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('in')"
    ended = escapes.run(f'/usr/bin/python3 -c "{program}"')
    assert "in" not in ended.lines


def test_both_refuse_signals_to_others(escapes: Escapes) -> None:
    ended = escapes.run(f"kill -0 {os.getpid()} && echo reached; kill -0 {os.getppid()} && echo up")
    assert not {"reached", "up"} & set(ended.lines)


def test_only_the_sandbox_limits_the_size_of_all_files(escapes: Escapes) -> None:
    program = "for n in range(8): open(str(n), 'wb').write(bytes(4_000_000))"
    ended = escapes.run(f'/usr/bin/python3 -c "{program}"')
    total = sum(path.stat().st_size for path in ended.files())
    assert (total <= LIMITS["disk_bytes"]) is (escapes.driver == "bubblewrap")


@pytest.mark.verify
def test_only_the_sandbox_limits_the_number_of_files(escapes: Escapes) -> None:
    program = f"for n in range({TOO_MANY_FILES}): open(str(n), 'w').close()"
    ended = escapes.run(f'/usr/bin/python3 -c "{program}" && echo all; find . -delete')
    assert ("all" in ended.lines) is (escapes.driver == "landlock")


def test_only_the_sandbox_keeps_the_rights_of_given_files(escapes: Escapes) -> None:
    escapes.given.chmod(0o644)
    escapes.run("chmod 777 $GIVEN/given.txt")
    assert (escapes.given.stat().st_mode & 0o777 == 0o644) is (escapes.driver == "bubblewrap")


def test_only_the_sandbox_hides_the_existence_of_files(escapes: Escapes, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("top secret")
    ended = escapes.run(f"stat -c %s {secret} || true")
    assert (ended.lines == ["10"]) is (escapes.driver == "landlock")


def _files(folder: Path) -> List[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
