"""Options read in the manner of PopLibs, names of operators and types of sizes."""

from __future__ import annotations

from typing import Callable, List

import pytest


@pytest.fixture(scope="module")
def lines(run_program: Callable) -> List[str]:
    done = run_program("option_parsing")
    assert done.returncode == 0, done.stderr
    return str(done.stdout).splitlines()


@pytest.mark.verify
def test_values_of_every_kind_are_read(lines: List[str]) -> None:
    assert lines[0] == "2 16 1 0.25 wide 0 2.5 4: 3 15 7"


def test_unknown_options_can_be_ignored(lines: List[str]) -> None:
    assert lines[1] == "2 -2 1 0.25 wide 0 2.5 4: 3 15 7"


def test_wrong_values_are_refused_with_the_name_of_the_option(lines: List[str]) -> None:
    refused = [line for line in lines if line.startswith("refused ")]
    options = ["unknown", "pass", "depth", "verbose", "proportion", "proportion", "tiles", "limit"]
    assert len(refused) == len(options), lines
    assert all(f"'{option}'" in line for option, line in zip(options, refused))
    assert "['INFERENCE', 'TRAINING']" in refused[1]


def test_operators_print_their_names(lines: List[str]) -> None:
    assert lines[-3:-1] == ["GELU_ERF ATAN2 SELECT", "no operator"]


def test_sizes_have_the_types_of_the_sdk(lines: List[str]) -> None:
    assert lines[-1] == "6"
