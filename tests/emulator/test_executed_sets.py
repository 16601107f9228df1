"""Compute sets of executed steps, and profiles by the names from before libpva."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable, Dict, List

import pytest

from poplar_emulator import pva


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def lines(run_program: Callable, folder: Path) -> List[List[str]]:
    options = {"autoReport.all": "true", "autoReport.directory": str(folder)}
    done = run_program("executed_sets", more=(("POPLAR_ENGINE_OPTIONS", json.dumps(options)),))
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def numbers(lines: List[List[str]]) -> Dict[str, List[int]]:
    """The numbers by the name of their line; of a repeated name, the first line's."""
    return {name: [int(v) for v in rest] for name, *rest in reversed(lines) if name != "set"}


def test_steps_name_the_compute_sets_that_they_executed(lines: List[List[str]]) -> None:
    assert [line for line in lines if line[0] in ("step", "set")] == [
        ["step", "1"],
        ["set", "estimated"],
        ["step", "0"],
        ["step", "1"],
        ["set", "unknown"],
    ]


def test_cycles_are_listed_by_tile(lines: List[List[str]], numbers: Dict[str, List[int]]) -> None:
    first, second = (line[1:] for line in lines if line[0] == "cycles")
    for cycles in (first, second):
        assert [value == "0" for value in cycles] == [True, False, True]
    known, unknown = (line[1:] for line in lines if line[0] == "estimated")
    assert known == first, "a model takes the estimate of a vertex for its cycles"
    assert known[1] >= "500"
    assert unknown == [], "a vertex has no estimate"


def test_a_report_s_file_names_them_too(lines: List[List[str]], folder: Path) -> None:
    steps = pva.openReport(str(folder / "profile.json")).execution.steps
    names = [[each.name for each in step.computeSets] for step in steps]
    assert names == [["estimated"], [], ["unknown"]]


def test_memory_by_tile_is_that_of_libpva(numbers: Dict[str, List[int]]) -> None:
    assert numbers["total"] == numbers["with_gaps"] == numbers["by_libpva"]
    parts = zip(numbers["always"], numbers["others"])
    assert [always + others for always, others in parts] == numbers["total"]
    assert numbers["sum"] == [sum(numbers["total"])]


def test_simulated_cycles_are_those_of_the_device(numbers: Dict[str, List[int]]) -> None:
    older, libpva = numbers["cycles_of_all"]
    assert older == libpva > 0
