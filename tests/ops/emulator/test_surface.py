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


def test_host_programs_may_be_of_c11(prefix: Path, tmp_path: Path) -> None:
    """Every header of the host; those of codelets are compiled by popc, as C++17."""
    include = prefix / "include"
    tiles = ("Vertex", "TileState")
    headers = [h for h in sorted(include.glob("*/**/*.hpp")) if not h.name.startswith(tiles)]
    source = tmp_path / "all.cpp"
    names = [PROGRAMS / "first_steps.cpp", *(header.relative_to(include) for header in headers)]
    source.write_text("".join(f'#include "{name}"\n' for name in names))
    flags = ("-std=c++11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic")
    subprocess.run([*compiler(), *flags, f"-I{include}", str(source)], check=True)
