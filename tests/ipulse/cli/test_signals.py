"""Whatever stops a command, and wherever: a line, an exit code, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from ipulse.cli.exits import Exit, guarded
from ipulse.cli.signals import terminable
from ipulse_core.errors import Unavailable
from ipulse_service.selftest import suite, testbed
from ipulse_service.selftest.plan import Plan
from poplar_emulator import emulate

from .conftest import environment

HANDLERS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


@pytest.fixture
def _as_in_a_terminal() -> Iterator[None]:
    """Programs behind others, or that outlive a terminal, ignore signals, and so do their tests."""
    former = {number: signal.signal(number, handler) for number, handler in HANDLERS.items()}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_as_in_a_terminal")
@pytest.mark.parametrize("number", list(HANDLERS))
def test_any_command_cleans_up_and_prints_a_line(
    number: signal.Signals, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def command() -> Exit:
        with tempfile.TemporaryDirectory(dir=tmp_path):
            os.kill(os.getpid(), number)
        return Exit.OK

    with pytest.raises(typer.Exit) as ended:
        guarded(command)()
    assert (ended.value.exit_code, capsys.readouterr().err) == (130, "Interrupted.\n")
    assert list(tmp_path.iterdir()) == []


def test_a_hang_up_that_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminable():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_ctrl_c_during_the_imports_is_a_line() -> None:
    program = (
        "import sys, ipulse.cli\n"
        "class Interrupted:\n"
        "    def find_spec(*_):\n"
        "        raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted)\n"
        "sys.exit(ipulse.cli.main(['list']))\n"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert (ran.returncode, ran.stderr) == (130, "Interrupted.\n")


def test_a_second_ctrl_c_while_python_ends_changes_nothing() -> None:
    program = (
        "import atexit, os, signal, sys, ipulse.cli\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "code = ipulse.cli.main()\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(code)\n"
    )
    command = [sys.executable, "-c", program, "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_selftest_that_is_interrupted_keeps_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(_: testbed.Testbed) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(testbed.Testbed, "__enter__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        suite.run(Plan(seed=0, kills=0), print)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_selftest_names_the_kept_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise Unavailable("the agent has ended")

    def enter(started: testbed.Testbed) -> testbed.Testbed:
        (started.home / "logs").mkdir(parents=True)
        (started.home / "logs" / "agent.log").write_text("why\n")
        started.records.path.write_text("rows\n")
        return started

    lines: list[str] = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(testbed.Testbed, "__enter__", enter)
    monkeypatch.setattr(testbed.Testbed, "load", fail)
    with pytest.raises(Unavailable):
        suite.run(Plan(seed=0, kills=0), lines.append)
    (kept,) = tmp_path.iterdir()
    assert lines == [f"Logs and database are kept in {kept}."]
    assert (kept / "logs" / "agent.log").read_text() == "why\n"
    assert (kept / "ipulse.db").exists()


def test_ctrl_c_while_a_program_compiles_is_handled_by_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(emulate, "compile_program", interrupted)
    request = {"scratch": str(tmp_path), "sources": ["a.cpp"], "codelets": [], "flags": []}
    with pytest.raises(SystemExit) as ended:
        emulate.main(request)
    assert ended.value.code == 130


def test_the_command_line_handles_ctrl_c_before_large_imports() -> None:
    program = "import sys, ipulse.cli; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
