"""The examples in the help: every command has one, and every example is a valid command line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ipulse.cli.app import whole_command
from ipulse.cli.command_list import COMMANDS, GROUPS
from ipulse.cli.default_command import DEFAULT
from ipulse.cli.examples import EXAMPLES
from ipulse.cli.exits import MEANINGS, Exit
from tests.ipulse.live_service import ROOT

from .conftest import Run

WITHOUT_DATA = ("completion", "spec schema")  # a script for a shell, and always JSON
NAMES = [*COMMANDS, *(f"{group} {name}" for group in GROUPS for name in GROUPS[group])]


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_every_command_shows_an_example(offline: Run, name: str) -> None:
    ran = offline(*name.split(), "--help")
    assert ran.code == 0
    assert "Example" in ran.out
    for example in EXAMPLES[name]:
        assert example.startswith(name.removesuffix(f" {DEFAULT}"))
        assert f"ipulse {example}" in ran.out
    assert "Exit codes: " in ran.out
    assert ("--json" in ran.out) is (name not in WITHOUT_DATA)


def test_the_exit_codes_are_in_the_help(offline: Run) -> None:
    lines = [line.split(maxsplit=1) for line in offline("--help").out.splitlines()]
    listed = {int(words[0]): words[1] for words in lines if words and words[0].isdigit()}
    assert listed == {int(code): meaning for code, meaning in MEANINGS.items()}
    assert set(MEANINGS) == set(Exit)


@pytest.mark.parametrize("example", [words for lines in EXAMPLES.values() for words in lines])
def test_every_example_is_accepted(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "recordings").mkdir()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name in ("program.cpp", "mine.npz", "train.py"):
        (tmp_path / name).touch()
    command: Any = whole_command()
    without_redirection = re.split(r" [<>] ", example)[0]
    arguments: list[str] = shlex.split(without_redirection)
    arguments = [argument.replace("~", str(tmp_path)) for argument in arguments]
    while arguments and arguments[0] in getattr(command, "commands", {}):
        command = command.commands[arguments.pop(0)]
    command.make_context(command.name, arguments)  # raises a usage error
    for argument in arguments:
        if argument.startswith("examples/"):
            assert (ROOT / argument).is_file()
