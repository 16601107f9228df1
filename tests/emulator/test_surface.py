"""The API by its documentation, and libpva's report of an engine in the same program."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable

import pytest

from ipulse_ops.lif.cpu.native import compiler
from tests.emulator.conftest import PROGRAMS

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
    refused = [h for h in headers if "#error" in h.read_text()]
    given = (h.relative_to(include) for h in headers if h not in refused)
    names = [PROGRAMS / "first_steps.cpp", *given]
    source.write_text("".join(f'#include "{name}"\n' for name in names))
    flags = ("-std=c++11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic")
    command = [*compiler(), *flags, f"-I{include}", str(source)]
    subprocess.run(command, check=True)
    # What there is not says so by its own name.
    source.write_text("".join(f'#include "{h.relative_to(include)}"\n' for h in refused))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused
    for header in refused:
        assert f"{header.relative_to(include)} is not provided by the emulator:" in done.stderr
