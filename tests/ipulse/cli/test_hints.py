"""Commands in messages can be copied: they exist, have those options, and the shell finds them."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse.cli.app import whole_command
from ipulse.cli.called import as_called, program
from ipulse.cli.command_list import GROUPS
from ipulse.client import Connection
from tests.ipulse.live_service import ROOT, Agent

from .conftest import FILES, SPEC, Run

PACKAGES = ("core", "emulator", "ipulse", "ops", "service", "worker")


def constants(source: str) -> Iterator[str]:
    """Yield the texts of a Python file without its docstrings; values are in braces."""
    tree = ast.parse(source)
    skipped = set()  # docstrings, and the parts of formatted texts
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            skipped.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            skipped |= {id(value) for value in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(value.value) if isinstance(value, ast.Constant) else "{value}"
                for value in node.values
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in skipped
        ):
            yield node.value


def printed() -> list[tuple[str, str]]:
    """Return every command in a message, with the file that prints it."""
    found = set()
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text("utf-8")
            for message in constants(text) if "`ipulse " in text else ():
                commands = re.findall(r"`ipulse ([^`]*)`", message)
                found |= {(path.name, name) for name in commands if name != "{value}"}
    page = ROOT / "service" / "ipulse_service" / "http" / "web" / "static"
    for path in sorted(page.rglob("*.js")):
        for command in re.findall(r'["`]ipulse ([a-z][^"`\\]*)["`\\]', path.read_text("utf-8")):
            found.add((path.name, re.sub(r"\$\{.*?\}", "ID", command)))
    return sorted(found)


def test_every_command_that_a_message_prints_is_one() -> None:
    commands = printed()
    assert len(commands) > 15
    for file, command in commands:
        here: Any = whole_command()
        words = shlex.split(command)
        while words and words[0] in getattr(here, "commands", {}):
            here = here.commands[words.pop(0)]
        assert not hasattr(here, "commands") or not words, f"{file}: no command {command!r}"
        options = {name for parameter in here.params for name in parameter.opts}
        options |= {"--help", "--home"}
        wrong = {word for word in words if word.startswith("-")} - options
        assert not wrong, f"{file}: {command!r}: {wrong}"


class TestAsCalled:
    def test_a_command_on_the_path_is_its_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script = tmp_path / "bin" / "ipulse"
        script.parent.mkdir()
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
        monkeypatch.setattr(sys, "argv", [str(script)])
        monkeypatch.setenv("PATH", str(script.parent))
        assert program() == "ipulse"
        monkeypatch.setenv("PATH", "/nowhere")
        assert program() == str(script)
        monkeypatch.chdir(tmp_path)
        assert program() == "bin/ipulse"
        assert as_called("use `ipulse up`, not ipulse") == "use `bin/ipulse up`, not ipulse"
        monkeypatch.chdir(script.parent)
        assert program() == "./ipulse"

    def test_a_hint_of_a_failed_command_runs_in_the_same_shell(self, tmp_path: Path) -> None:
        """Every command that it prints is executed, from a directory with a space."""
        here = tmp_path / "a folder"
        here.mkdir()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
        environment["IPULSE_HOME"] = str(tmp_path / "none")

        def shell(command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                ["sh", "-c", command], cwd=here, env=environment, capture_output=True, text=True,
                check=False,
            )  # fmt: skip

        failed = shell(f"{shlex.quote(sys.executable)} -m ipulse list")
        (hint,) = re.findall(r"`([^`]+ up)`", failed.stderr)
        assert hint.endswith("-m ipulse up")
        assert "Usage" in shell(f"{hint} --help").stdout

    def test_the_log_of_a_job_is_shown_as_it_is(
        self, run: Run, client: Connection, agent: Agent
    ) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, ["start it with `ipulse up`"])
        assert "start it with `ipulse up`" in run("logs", job.id).out


class TestHelp:
    @pytest.mark.parametrize("name", ["", *GROUPS])
    def test_groups_show_examples(self, offline: Run, name: str) -> None:
        ran = offline(*name.split(), "--help")
        assert ran.code == 0
        assert re.search(rf"Examples?:\s+ipulse {name}", ran.out)

    def test_variables_are_named_in_one_style(self) -> None:
        app: Any = whole_command()
        commands = list(app.commands.values())
        for command in [
            *commands,
            *(c for g in commands for c in getattr(g, "commands", {}).values()),
        ]:
            for option in command.params:
                shown = getattr(option, "help", None) or ""
                assert "env var" not in shown
                assert not getattr(option, "show_envvar", False) or not option.envvar
                if getattr(option, "envvar", None):
                    assert f"[env: {option.envvar}]" in shown
