"""Commands with which agents join a service."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from ipulse.cli import main
from ipulse.stack.stack import Stack
from tests.ipulse.stack.guarded import DEADLINE
from tests.ipulse.stack.stack_jobs import ENVIRONMENT

SOURCE = Path(__file__).parents[3]


def ipulse(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ipulse", *arguments],
        cwd=SOURCE,
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE,
        check=False,
        **options,
    )


def ipulse_here(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in this process, which is quicker, for those that start nothing."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = main(list(arguments))
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def join_line(stack: Stack, *options: str) -> list[str]:
    """The arguments of the command that `ipulse agent token` prints."""
    printed = ipulse_here("agent", "token", "--home", str(stack.home), *options)
    assert printed.returncode == 0, printed.stderr
    [line] = printed.stdout.splitlines()
    program, *arguments = shlex.split(line)
    assert program == "ipulse"
    return arguments


@contextmanager
def running(
    home: Path, *arguments: str, before: Sequence[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    """An agent that waits for jobs; it ends with the context."""
    command = [*before, sys.executable, "-m", "ipulse", *arguments, "--home", str(home), "--json"]
    process = subprocess.Popen(
        command,
        cwd=SOURCE,
        env={**os.environ, **ENVIRONMENT, "IPULSE_WARM": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stdout.readline()
        # One line once it waits for jobs; an error has several.
        assert said.endswith("}\n"), said + process.stdout.read() + process.stderr.read()
        assert json.loads(said)["url"].startswith("http")
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=DEADLINE)
