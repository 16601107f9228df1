"""Commands that ask the machine for its resources end with the agent, and say why they failed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ipulse_worker.agent.registration.machine_commands import MachineCommands
from ipulse_worker.agent.settings import AgentSettings
from tests.worker.agent.conftest import agent_with, in_background
from tests.worker.agent.fake_rules import DEADLINE
from tests.worker.agent.offspring import Offspring

SLEEPS = (sys.executable, "-c", "import os, time; open({!r}, 'w').close(); time.sleep(1000)")


def test_what_a_command_prints_is_returned() -> None:
    assert MachineCommands().output(["echo", "16"], DEADLINE) == "16\n"


def test_a_command_that_fails_or_is_missing_is_an_error() -> None:
    commands = MachineCommands()
    with pytest.raises(subprocess.CalledProcessError):
        commands.output(["false"], DEADLINE)
    with pytest.raises(FileNotFoundError):
        commands.output(["/no/such/command"], DEADLINE)


def test_a_command_that_takes_too_long_is_killed() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        MachineCommands().output(["sleep", "1000"], 0.05)
    assert not _children_named("sleep")


def test_closing_ends_a_command_at_once(tmp_path: Path) -> None:
    commands = MachineCommands()
    started = tmp_path / "started"
    command = [part.format(os.fspath(started)) for part in SLEEPS]

    def run() -> None:
        with pytest.raises(subprocess.CalledProcessError):
            commands.output(command, DEADLINE)

    with in_background(run):
        while not started.exists():
            pass
        commands.close(DEADLINE)
    assert not [child for child in psutil.Process().children() if child.cmdline() == command]


def test_none_starts_after_closing() -> None:
    commands = MachineCommands()
    commands.close(DEADLINE)
    with pytest.raises(subprocess.SubprocessError):
        commands.output(["true"], DEADLINE)


def test_an_agent_that_ends_leaves_no_probe_of_its_sandbox(
    offspring: Offspring,
    settings: AgentSettings,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    started = tmp_path / "started"
    slow = tmp_path / "python"
    slow.write_text(f"#!/bin/sh\n: > {started}\nexec sleep 1000\n")
    slow.chmod(0o755)
    with agent_with(settings, runner_python=str(slow)):
        while not started.exists():
            pass
    assert offspring.alive() == []
    assert "sandbox_not_known" not in caplog.messages


def _children_named(name: str) -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child.name() == name]
