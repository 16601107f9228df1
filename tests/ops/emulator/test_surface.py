"""The API by its documentation, and libpva's report of an engine in the same program."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable

import pytest

from ops.lif.cpu.native import compiler
from tests.ops.emulator.conftest import PROGRAMS

pytestmark = pytest.mark.same_on_every_python


def test_programs_find_the_api_they_were_written_for(run_program: Callable) -> None:
    """Compiling holds the signatures; what runs is the report."""
    done = run_program("surface")

    assert done.returncode == 0, done.stderr
    steps = (
        "0101 0000, Twice<float> on 1, Twice<float,true,2> on 3, exchange gather; "
        "half of all cycles: 1"
    )
    assert done.stdout.splitlines() == [
        "target 4 638976 1",
        "bytes 128 0",
        f"run first: {steps}",
        f"run run 1: {steps}",
        "no execution",
    ]


def test_host_programs_may_be_older_than_c17(prefix: Path) -> None:
    source = str(PROGRAMS / "first_steps.cpp")
    flags = ("-std=c++14", "-fsyntax-only", "-w", f"-I{prefix / 'include'}")
    done = subprocess.run(
        [*compiler(), *flags, source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
