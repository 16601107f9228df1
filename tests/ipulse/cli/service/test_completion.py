"""Completion in shells: what they offer after a part of a command line."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer._completion_classes import BashComplete, FishComplete, ZshComplete

from ipulse.cli import VARIABLE, quick_completion
from ipulse.cli.app import whole_command
from ipulse.cli.completion_index import read_index, write_index
from ipulse.client import Connection
from tests.ipulse.cli.conftest import SPEC, Run, environment
from tests.ipulse.live_service import LiveService
from tests.ipulse.scripted_server import ScriptedServer, json_answer

ENGINES: dict[str, Any] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
SHELLS = tuple(ENGINES)


def offered(shell: str, line: str, offline: Run, **more: str) -> str:
    """Return what the program offers to a shell at the end of a line."""
    words = line.split(" ")
    ran = offline(
        _IPULSE_COMPLETE=f"complete_{shell}",
        COMP_WORDS="\n".join(words),
        COMP_CWORD=str(len(words) - 1),
        _TYPER_COMPLETE_ARGS=line,
        _TYPER_COMPLETE_FISH_ACTION="get-args",
        **more,
    )
    assert ran.err == ""
    return ran.out


@pytest.mark.parametrize("shell", SHELLS)
class TestEveryShell:
    def test_commands_and_options(self, shell: str, offline: Run) -> None:
        assert "status" in offered(shell, "ipulse sta", offline)
        assert "--watch" in offered(shell, "ipulse submit --wa", offline)

    def test_jobs(self, service: LiveService, client: Connection, shell: str, offline: Run) -> None:
        job_id = client.submit({**SPEC, "name": "$(touch here) `touch here`"}).id
        home = {"IPULSE_HOME": str(service.home)}
        shown = offered(shell, "ipulse cancel ", offline, **home)
        assert job_id[4:12] in shown
        assert "touch" not in shown  # a shell may evaluate it
        line = f"ipulse open --home {service.home} job_"
        assert job_id in offered(shell, line, offline)

    def test_without_a_service_it_is_silent(self, shell: str, offline: Run, tmp_path: Path) -> None:
        line = "ipulse status --url http://127.0.0.1:1 "
        assert "latest" not in offered(shell, line, offline, IPULSE_TOKEN="t" * 40)
        assert "latest" not in offered(shell, "ipulse logs ", offline, IPULSE_HOME=str(tmp_path))


def test_sweeps_data_sets_columns_and_values(
    service: LiveService,
    client: Connection,
    offline: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("IPULSE_CACHE", str(tmp_path))
    write_index(whole_command())
    client.create_sweep(SPEC, vary={"learning_rate": [0.1, 0.2]}, name="rates")
    client.push_dataset(name="mine", spikes=np.ones((4, 3, 2), bool), labels=np.array([0, 1, 0, 1]))
    home = {"IPULSE_HOME": str(service.home), "IPULSE_CACHE": str(tmp_path)}
    for line, expected in (
        ("ipulse sweep show la", "latest"),
        ("ipulse data show mi", "mine"),
        ("ipulse list --columns learn", "learning_rate"),
        ("ipulse submit a.yaml --set learn", "learning_rate="),
        ("ipulse clone latest --set layers[1].neu", "layers[1].neurons="),
        ("ipulse submit a.yaml --start-mode = we", "weights"),
        ("ipulse submit a.yaml --start-mode=we", "--start-mode=weights"),
    ):
        assert expected in offered("bash", line, offline, **home).split(), line


def command_lines(command: Any, words: list[str], seen: set[str]) -> Iterator[list[str]]:
    """Every command with nothing, with an option, and with the value of each option behind it."""
    yield [*words, ""]
    yield [*words, "-"]
    for option in (one.opts[0] for one in command.params if one.opts[0] not in seen):
        seen.add(option)
        if option.startswith("-"):
            yield [*words, option, ""]
    for name, child in getattr(command, "commands", {}).items():
        yield [*words, name[:2]]
        yield from command_lines(child, [*words, name], seen)


def test_the_index_answers_as_the_application_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For every command, unless it leaves the answer to the application; the shells in turn."""
    monkeypatch.setenv("IPULSE_CACHE", str(tmp_path))
    monkeypatch.setenv("IPULSE_HOME", str(tmp_path))
    assert read_index() is None
    write_index(whole_command())
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    left = asked = 0
    lines = command_lines(whole_command(), ["ipulse"], set())
    for words, shell in zip(lines, cycle(SHELLS), strict=False):
        line = " ".join(words)
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv(VARIABLE, f"complete_{shell}")
        capsys.readouterr()
        code = quick_completion.answer()
        asked += 1
        left += code is None
        if code is not None:
            expected = ENGINES[shell](whole_command(), {}, "ipulse", VARIABLE).complete()
            shown = capsys.readouterr().out  # Typer breaks long lines for a terminal
            assert "".join(shown.split()) == "".join(expected.split()), (shell, line)
            assert shown.count("\n") <= expected.count("\n") + 1
    assert asked > 300
    assert left < asked / 8


@pytest.mark.verify  # the time of a calm machine
def test_it_takes_at_most_100_ms(tmp_path: Path) -> None:
    seconds, shown = answer_seconds("ipulse submit --wa", IPULSE_CACHE=str(tmp_path))
    assert "--watch" in shown
    assert seconds <= 0.1


@pytest.mark.verify
def test_ids_of_jobs_take_at_most_250_ms(
    service: LiveService, client: Connection, tmp_path: Path
) -> None:
    job_id = client.submit(SPEC).id
    home = {"IPULSE_HOME": str(service.home), "IPULSE_CACHE": str(tmp_path)}
    seconds, shown = answer_seconds("ipulse cancel ", **home)
    assert job_id[4:12] in shown
    assert seconds <= 0.25


def answer_seconds(line: str, **more: str) -> tuple[float, str]:
    """Return the least processor time of several answers; an earlier one has written the index."""
    words = line.split(" ")
    asked = {VARIABLE: "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    seconds = []
    for _ in range(6):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "ipulse"]
        env = environment(**asked, **more)
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds[1:]), done.stdout


def test_another_shell_is_refused_with_the_choices(offline: Run) -> None:
    ran = offline("completion", "tcsh")
    assert (ran.code, ran.out) == (2, "")
    assert all(shell in ran.err for shell in SHELLS)


@pytest.mark.parametrize("shell", SHELLS)
def test_terms_that_control_a_terminal_are_not_offered(shell: str, offline: Run) -> None:
    texts = ["label.plain:", "label.\x1b[2J:", "label.\u202e:", "label.a\nb:", "label.größe:"]
    answer = json_answer({"start": 0, "items": [{"text": text} for text in texts]})
    offered(shell, "ipulse sta", offline)  # writes the index of commands
    with ScriptedServer(lambda _: answer) as server:
        line = f"ipulse list --url {server.url} label."
        shown = offered(shell, line, offline, IPULSE_TOKEN="t" * 40)
    assert "label.plain:" in shown
    assert "label.größe:" in shown
    assert set(shown) <= {*map(chr, range(32, 127)), "ö", "ß", "\n"}
