"""Blocks of a program with their cycles, in the report of an engine and in its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable, List, Tuple

import pytest

from poplar_emulator import pva

FIRSTS = ["first"] * 3


def blocks_of(run_program: Callable, **options: str) -> Tuple[List[Tuple[str, int, int]], int]:
    """Return name, first and last cycle of each block, and the cycles of the run."""
    done = run_program("blocks", more=(("POPLAR_ENGINE_OPTIONS", json.dumps(options)),))
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ") for line in done.stdout.splitlines()]
    found = [(name, int(first), int(last)) for kind, name, first, last in lines[:-2]]
    return found, int(lines[-2][1])


def test_every_execution_of_a_block_is_listed(run_program: Callable, tmp_path: Path) -> None:
    written = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    found, total = blocks_of(run_program, **written)
    assert [name for name, *_ in found] == [*FIRSTS, "inner", "second", "empty"]
    *firsts, inner, second, empty = [(first, last) for _, first, last in found]
    at = 0
    for first, last in firsts:
        assert first == at
        at = last
    # 1,000 elements take longer than 100, by four bytes a cycle.
    assert inner[1] - inner[0] == firsts[0][1] + 900
    assert inner == second == (at, total)
    assert empty == (total, total)
    execution = pva.openReport(str(tmp_path / "profile.json")).execution
    read = [(block.name, block.cyclesFrom, block.cyclesTo) for block in execution.blocks(1)]
    assert read == found
    with pytest.raises(IndexError, match="tile 2"):
        execution.blocks(2)


def test_blocks_have_no_names_without_the_compilation(
    run_program: Callable, tmp_path: Path
) -> None:
    blocks_of(
        run_program,
        **{"autoReport.outputExecutionProfile": "true", "autoReport.directory": str(tmp_path)},
    )
    execution = pva.openReport(str(tmp_path / "profile.json")).execution
    with pytest.raises(AttributeError, match="outputGraphProfile"):
        execution.blocks(0)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"profiler.blocks.filter": "s.*t|inn"}, [*FIRSTS, "inner"]),
        ({"profiler.programs.filter": "many"}, [*FIRSTS, "many", "inner", "second", "empty"]),
        ({"profiler.blocks.filter": "", "profiler.programs.filter": "few"}, ["few"] * 3),
    ],
)
def test_options_select_blocks(run_program: Callable, options: dict, names: List[str]) -> None:
    assert [name for name, *_ in blocks_of(run_program, **options)[0]] == names


def test_a_tile_that_is_not_there_has_no_blocks(run_program: Callable) -> None:
    assert "refused blocks of tile 2: the target has 2 tiles" in run_program("blocks").stdout


def test_a_wrong_filter_is_refused(run_program: Callable) -> None:
    options = json.dumps({"profiler.blocks.filter": "("})
    done = run_program("blocks", more=(("POPLAR_ENGINE_OPTIONS", options),))
    assert done.returncode != 0
    assert "profiler.blocks.filter" in done.stderr
