"""Completion in real shells: each loads our script, and is asked as at a press of Tab."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ipulse.client import Client
from tests.ipulse.cli.conftest import SPEC, Run, environment
from tests.ipulse.live_service import LiveService

SECONDS = 60.0
# A shell passes the words to the function that our script has registered for the program.
BASH = """
line="$ASKED"
COMP_WORDS=($line)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p ipulse | sed 's/.*-F \\([^ ]*\\) .*/\\1/') ipulse
echo "${COMPREPLY[@]}"
"""
FISH = 'complete --do-complete "$ASKED"'


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A folder of the path in which a shell finds the program."""
    program = tmp_path / "bin" / "ipulse"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ipulse "$@"\n')
    program.chmod(0o755)
    return program.parent


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
class TestEveryShell:
    def test_it_completes_a_command(self, shell: str, run: Run, bin_folder: Path) -> None:
        assert completed(shell, "ipulse statu", run, bin_folder) == "status"

    def test_it_completes_an_option(self, shell: str, run: Run, bin_folder: Path) -> None:
        assert completed(shell, "ipulse submit --watc", run, bin_folder) == "--watch"

    def test_it_completes_the_id_of_a_job(
        self, service: LiveService, client: Client, shell: str, run: Run, bin_folder: Path
    ) -> None:
        job_id = client.submit({**SPEC, "name": "$(touch here) `touch here`"}).id
        line = f"ipulse cancel --home {service.home} {job_id[:20]}"
        assert completed(shell, line, run, bin_folder) == job_id
        assert not list(bin_folder.glob("**/here"))


def completed(shell: str, line: str, run: Run, bin_folder: Path) -> str:
    """Return what a shell makes of the last word of a line."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = run("completion", shell)
    assert (script.code, script.err) == (0, "")
    home = {"HOME": str(bin_folder), "ASKED": line, "TERM": "dumb"}
    env = environment(**home, PATH=f"{bin_folder}:{os.environ['PATH']}")
    if shell == "zsh":
        return in_zsh(script.out, line, env, bin_folder)
    options = ["--norc"] if shell == "bash" else ["--no-config"]
    asked = BASH if shell == "bash" else FISH
    done = subprocess.run(
        [shell, *options, "-c", f"{script.out}\n{asked}"],
        capture_output=True,
        text=True,
        env=env,
        cwd=bin_folder,
        timeout=SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()[0]


def in_zsh(script: str, line: str, env: dict[str, str], folder: Path) -> str:
    """Return the last word of a line that zsh, at a terminal, has after a press of Tab.

    Its completion works in the line editor only. Ctrl-T then writes the edited line to a file.
    """
    (folder / "script").write_text(script)
    (folder / ".zshrc").write_text(
        f"autoload -U compinit\ncompinit -D -u\nsource {folder}/script\n"
        "zstyle ':completion:*' insert-tab false\n"
        'keep-line() { print -r -- "$BUFFER" > edited.new; mv edited.new edited }\n'
        "zle -N keep-line\nbindkey '^T' keep-line\nbindkey '^I' expand-or-complete\n"
        "touch started\n"
    )
    terminal, its_end = pty.openpty()
    process = subprocess.Popen(
        ["zsh", "-d", "-i"],
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        env={**env, "ZDOTDIR": str(folder), "PS1": "% "},
        cwd=folder,
        start_new_session=True,
    )
    os.close(its_end)
    try:
        await_file(folder / "started", terminal)
        os.write(terminal, f"{line}\t\x14".encode())
        return await_file(folder / "edited", terminal).split()[-1]
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def await_file(path: Path, terminal: int) -> str:
    """Return the content of a file as soon as it is there; what the terminal shows is read."""
    shown, until = b"", time.monotonic() + SECONDS
    while time.monotonic() < until:
        if path.exists():
            return path.read_text()
        if select.select([terminal], [], [], 0.05)[0]:
            shown += os.read(terminal, 4096)
    raise AssertionError(shown.decode(errors="replace"))
