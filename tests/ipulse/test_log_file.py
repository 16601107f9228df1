"""The log of a running program stays small, and loses no line of the last ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ipulse import log_file

LINES = 400
PROGRAM = """
    import logging, os
    from ipulse import json_log, log_file
    log_file.MAX_BYTES = 10_000
    json_log.configure(json_log.JSONLines(), ())
    for number in range({lines}):
        logging.getLogger("test").info("line", extra={{"number": number}})
        {also}
"""


def run(path: Path, also: str = "") -> tuple[list[str], list[str]]:
    """Runs a program that logs; returns the lines of the older and of the present file."""
    code = textwrap.dedent(PROGRAM.format(lines=LINES, also=also))
    with path.open("ab") as stream:
        subprocess.run(
            [sys.executable, "-c", code],
            stdout=stream,
            stderr=stream,
            env={**os.environ, log_file.VARIABLE: str(path)},
            check=True,
        )
    older = log_file.older(path)
    texts = [file.read_text() if file.exists() else "" for file in (older, path)]
    return texts[0].splitlines(), texts[1].splitlines()


def test_a_log_is_rotated_while_the_program_runs(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    before, now = run(path)
    numbers = [json.loads(line)["number"] for line in before + now]
    assert numbers == list(range(LINES))[-len(numbers) :]
    assert before
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 25_000
    assert {file.stat().st_mode & 0o077 for file in (path,)} == {0}


def test_other_output_of_the_program_counts_and_follows(tmp_path: Path) -> None:
    before, now = run(tmp_path / "agent.log", "os.write(1, b'out\\n'); os.write(2, b'err\\n')")
    assert now[-2:] == ["out", "err"]
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 25_000
    assert before


def test_a_log_that_cannot_be_replaced_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    log_file.older(path).mkdir()
    (log_file.older(path) / "in the way").touch()
    assert len(run_alone(path)) == LINES


def run_alone(path: Path) -> list[str]:
    code = textwrap.dedent(PROGRAM.format(lines=LINES, also=""))
    with path.open("ab") as stream:
        environment = {**os.environ, log_file.VARIABLE: str(path)}
        subprocess.run([sys.executable, "-c", code], stderr=stream, env=environment, check=True)
    return path.read_text().splitlines()


@pytest.mark.parametrize("variable", ["", "unset"])
def test_without_a_file_it_only_writes(tmp_path: Path, variable: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != log_file.VARIABLE}
    if not variable:
        environment[log_file.VARIABLE] = ""
    code = textwrap.dedent(PROGRAM.format(lines=LINES, also=""))
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True
    )
    assert len(done.stderr.splitlines()) == LINES
