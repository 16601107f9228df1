"""A program in the sandbox can do nothing to the machine and to others."""

import os
import platform
import signal
import socket
import threading
from pathlib import Path
from typing import List

import pytest

from ipulse_core.sandbox import bubblewrap, state
from ipulse_core.sandbox.cgroup_folders import NoControlGroup
from ipulse_core.sandbox.limits import SandboxLimits
from ipulse_core.sandbox.sandbox import Sandbox
from ipulse_core.sandbox.state import sandbox_state
from ipulse_core.sandbox.unavailable import SandboxSilent, SandboxUnavailable
from tests.core.sandbox.place import LIMITS, Place

try:
    bubblewrap.require_bubblewrap()
except SandboxUnavailable as problem:
    pytest.skip(str(problem), allow_module_level=True)


@pytest.mark.old_python
def test_returns_what_it_printed_and_wrote(place: Place) -> None:
    result = place.run("cat given.txt; echo; echo no >&2; mkdir a; echo x > a/b.txt; exit 3")
    assert (result.status, result.exceeded) == (3, None)
    assert sorted(place.lines) == ["as given", "no"]
    assert sorted(result.returned.names) == ["a/b.txt", "given.txt"]
    assert (place.out / "a" / "b.txt").read_text() == "x\n"


def test_it_cannot_change_what_it_was_given(place: Place) -> None:
    result = place.run("echo worse > /package/given.txt || echo refused")
    assert "refused" in place.lines
    assert (place.package / "given.txt").read_text() == "as given"
    assert result.status == 0


def test_the_files_and_secrets_of_the_machine_are_not_there(place: Place) -> None:
    secret = place.folder / "worker-token"
    secret.write_text("top secret")
    place.run(
        f"cat {secret} /proc/*/environ /proc/1/root{secret}; ls / /home /root {place.folder}; "
        "cat /etc/passwd /etc/shadow; ls /var; env"
    )
    text = "\n".join(place.lines)
    assert "top secret" not in text
    assert "root:" not in text
    assert "HOME=/tmp" in text
    for name in os.environ:
        if name not in ("HOME", "PATH", "LANG", "PWD", "TMPDIR", "SHLVL", "OLDPWD", "_"):
            assert f"\n{name}=" not in text


def test_there_is_no_network(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = f"import socket; socket.create_connection(('127.0.0.1', {port}), timeout=5)"
        result = place.run(f'python3 -c "{program}"')
    assert result.status != 0
    assert any("Error" in line or "not found" in line for line in place.lines)


def test_others_processes_cannot_be_seen_or_ended(place: Place) -> None:
    kill = f"kill -9 {os.getpid()} 2> /dev/null && echo killed"
    result = place.run(f"{kill}; ls /proc | grep -c '^[0-9]'")
    assert len(place.lines) == 1
    assert int(place.lines[0]) < 20
    assert result.status == 0


def test_it_reaches_no_cache(place: Place) -> None:
    """The emulator is in a cache directory, next to other builds."""
    emulator, other = place.folder / "cache" / "emulator", place.folder / "cache" / "other"
    for folder in (emulator, other):
        folder.mkdir(parents=True)
        folder.chmod(0o777)
        (folder / "library.so").write_text("as built")
        (folder / "library.so").chmod(0o666)
    place.sandbox.add(str(emulator), emulator)
    place.run(
        f"cat {emulator}/library.so; echo; cd {emulator}; echo worse > library.so; rm library.so; "
        f"echo more > more.so; ls {other} {emulator.parent}; mkdir {emulator.parent}/new; "
        f"echo worse > {other}/library.so; echo worse > {other}.so; echo end"
    )
    assert "as built" in place.lines
    assert "end" in place.lines
    assert "other" not in place.lines
    files = {path for path in emulator.parent.rglob("*") if path.is_file()}
    assert files == {emulator / "library.so", other / "library.so"}
    assert {path.read_text() for path in files} == {"as built"}
    assert sorted(os.listdir(emulator.parent)) == ["emulator", "other"]


def test_a_compiler_brings_its_folder_but_no_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for compiler in (tmp_path / "gcc" / "bin" / "c++", tmp_path / "bin" / "c++"):
        compiler.parent.mkdir(parents=True)
        compiler.write_text("")
        compiler.chmod(0o755)
    own = tmp_path / "gcc"
    assert bubblewrap.compiler_folders([str(own / "bin" / "c++")]) == {str(own): own}
    with pytest.raises(SandboxUnavailable, match="CXX"):
        bubblewrap.compiler_folders([str(tmp_path / "bin" / "c++")])
    assert bubblewrap.compiler_folders(["cat"]) == {}


def test_links_and_devices_are_not_returned(place: Place) -> None:
    script = "ln -s /etc/passwd link; mkfifo pipe; ln given.txt hard; echo > .hidden"
    result = place.run(script)
    assert sorted(result.returned.names) == ["given.txt", "hard"]
    assert result.returned.left_out == len(result.returned.skipped) == 3
    assert not any(path.is_symlink() for path in place.out.rglob("*"))


def test_names_and_rights_of_files_do_not_matter(place: Place) -> None:
    long = "x" * 150
    result = place.run(f"mkdir a; echo > a/Größe; echo > {long}; chmod 0 a {long}")
    assert sorted(result.returned.names) == ["a/Größe", "given.txt", long]
    assert not result.returned.left_out


def test_sockets_are_counted(place: Place) -> None:
    script = "import socket; socket.socket(socket.AF_UNIX).bind('s')"
    result = place.run(f'python3 -c "{script}"')
    assert result.status == 0
    assert result.returned.left_out == 1


def test_a_forged_list_of_files_harms_nothing(place: Place) -> None:
    script = "for fd in /proc/[0-9]*/fd/3; do head -c 5000 /dev/urandom > $fd; done; true"
    result = place.run(script)
    assert all(len(Path(name).parts) == 1 for name in result.returned.names)


def test_it_inherits_no_files(place: Place) -> None:
    place.run("echo /proc/self/fd/*; readlink /proc/$$/fd/0")
    opened, first = place.lines
    assert len(opened.split()) <= 4, "its own three, and that of the folder"
    assert first == "/dev/null"


def test_what_it_leaves_running_ends_with_it(place: Place) -> None:
    result = place.run("(setsid sleep 1000 &) ; (trap '' TERM HUP; sleep 1001 &) ; echo end")
    assert result.status == 0
    assert result.seconds < 30


@pytest.mark.old_python
def test_a_cancellation_ends_it(place: Place) -> None:
    threading.Timer(0.3, place.stop.set).start()
    with pytest.raises(InterruptedError):
        place.run("sleep 1000")


def test_without_bubblewrap_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match="apt-get install bubblewrap"):
        bubblewrap.require_bubblewrap()


def test_other_processors_have_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "abacus")
    with pytest.raises(SandboxUnavailable, match="abacus"):
        bubblewrap.require_bubblewrap()


def test_an_operator_may_do_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: List[str] = []
    sandbox = Sandbox(
        tmp_path / "scratch",
        {"IPULSE_SANDBOX": "none"},
        lambda event: lines.append(event.message),
        lambda: None,
    )
    out = tmp_path / "out"
    out.mkdir()
    result = sandbox.run(["sh", "-c", "echo x > y; kill -9 $$"], {}, SandboxLimits(**LIMITS), out)
    assert result.status == 128 + signal.SIGKILL
    assert result.returned.names == ["y"]


def test_a_machine_with_much_to_do_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time-out says nothing about the sandbox."""
    monkeypatch.setattr(bubblewrap, "_PATIENCE_SECONDS", (0.0001, 60.0))
    made = Sandbox(tmp_path / "scratch", {}, lambda event: None, lambda: None)
    assert not made.is_off
    monkeypatch.setattr(bubblewrap, "_PATIENCE_SECONDS", (0.0001,))
    with pytest.raises(SandboxSilent):
        Sandbox(tmp_path / "scratch", {}, lambda event: None, lambda: None)


def test_the_state_is_said_with_its_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert sandbox_state({"IPULSE_SANDBOX": "none"}).driver == "off"
    assert sandbox_state({}).driver == "bubblewrap"

    def refuse() -> None:
        raise NoControlGroup("it may not")

    monkeypatch.setattr(state, "usable_hierarchies", refuse)
    watched = sandbox_state({})
    assert watched.is_available
    assert "watched, not limited" in watched.message
    assert "Delegate=yes" in watched.fix
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = sandbox_state({})
    assert (missing.driver, missing.is_available) == ("missing", False)
    assert "apt-get install" in missing.describe()
