"""Completion in real shells: each loads our script, and is asked as at a press of Tab."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ipulse.client import Connection
from ipulse_service.jobs.search.terms import quoted
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
    @pytest.mark.sample(1)
    def test_it_completes_a_command(self, shell: str, run: Run, bin_folder: Path) -> None:
        assert completed(shell, "ipulse statu", run, bin_folder) == "status"

    @pytest.mark.sample(1)
    def test_it_completes_an_option(self, shell: str, run: Run, bin_folder: Path) -> None:
        assert completed(shell, "ipulse submit --watc", run, bin_folder) == "--watch"

    @pytest.mark.sample(1)
    def test_it_completes_the_id_of_a_job(
        self, service: LiveService, client: Connection, shell: str, run: Run, bin_folder: Path
    ) -> None:
        job_id = client.submit({**SPEC, "name": "$(touch here) `touch here`"}).id
        line = f"ipulse cancel --home {service.home} {job_id[:20]}"
        assert completed(shell, line, run, bin_folder) == job_id
        assert not list(bin_folder.glob("**/here"))

    @pytest.mark.sample(1)
    def test_it_completes_labels_with_any_letters(
        self, service: LiveService, client: Connection, shell: str, run: Run, bin_folder: Path
    ) -> None:
        """Twice: the name of a label, then its value; neither is evaluated."""
        name, value = "my team's $(touch here)", 'größe: "`touch here`" *'
        job_id = client.submit({**SPEC, "metadata": {name: value}}).id
        completed(shell, "ipulse statu", run, bin_folder)  # writes the index of commands
        line = f"ipulse list --home {service.home} label.my"
        for expected in (f"label.{quoted(name)}:", f"label.{quoted(name)}:{quoted(value)}"):
            line = line_after_tab(shell, line, run, bin_folder).rstrip()
            assert shlex.split(line)[-1] == expected
            line += "gr"
        assert not list(bin_folder.glob("**/here"))
        client.job(job_id).cancel()


def line_after_tab(shell: str, line: str, run: Run, bin_folder: Path) -> str:
    """Return what a line is after a press of Tab."""
    if shell == "fish":  # it would quote the word
        *words, _ = shlex.split(line)
        (word,) = offered_in_fish(line, run, bin_folder)
        return shlex.join([*words, word])
    env = prepared(shell, line, bin_folder)
    script = run("completion", shell).out
    return (in_zsh if shell == "zsh" else in_bash)(script, line, env, bin_folder)


def offered_in_fish(line: str, run: Run, bin_folder: Path) -> list[str]:
    """Return the words that fish offers at the end of a line."""
    script = run("completion", "fish").out
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"{script}\n{FISH}"],
        capture_output=True,
        text=True,
        env=prepared("fish", line, bin_folder),
        cwd=bin_folder,
        timeout=SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [offer.split("\t")[0] for offer in done.stdout.splitlines()]


def prepared(shell: str, line: str, bin_folder: Path) -> dict[str, str]:
    """Return the environment of a shell that finds the program."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    home = {"HOME": str(bin_folder), "ASKED": line, "TERM": "dumb"}
    return environment(**home, PATH=f"{bin_folder}:{os.environ['PATH']}")


def completed(shell: str, line: str, run: Run, bin_folder: Path) -> str:
    """Return what a shell makes of the last word of a line."""
    env = prepared(shell, line, bin_folder)
    script = run("completion", shell)
    assert (script.code, script.err) == (0, "")
    if shell == "zsh":
        return in_zsh(script.out, line, env, bin_folder).split()[-1]
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
    """Return the line that zsh, at a terminal, has after a press of Tab.

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
    env = {**env, "ZDOTDIR": str(folder), "PS1": "% "}
    return after_tab(["zsh", "-d", "-i"], line, env, folder)


def in_bash(script: str, line: str, env: dict[str, str], folder: Path) -> str:
    """Return the line that bash, at a terminal, has after a press of Tab."""
    (folder / "script").write_text(
        f'{script}\nkeep-line() {{ printf %s "$READLINE_LINE" > edited.new; '
        "mv edited.new edited; }\n"
        "bind -x '\"\\C-t\": keep-line'\ntouch started\n"
    )
    command = ["bash", "--rcfile", str(folder / "script"), "-i"]
    return after_tab(command, line, env, folder)


def after_tab(command: list[str], line: str, env: dict[str, str], folder: Path) -> str:
    """Return the line that a shell at a terminal has after Tab; it has prepared the files."""
    for name in ("started", "edited"):
        (folder / name).unlink(missing_ok=True)
    terminal, its_end = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        env=env,
        cwd=folder,
        start_new_session=True,
    )
    os.close(its_end)
    try:
        await_file(folder / "started", terminal)
        os.write(terminal, f"{line}\t\x14".encode())
        return await_file(folder / "edited", terminal)
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
