"""Results of graph, popc and engine, against values computed by hand."""

from __future__ import annotations

import json
from typing import Callable, Dict, List

import pytest

from ipulse_core.build_cache.toolchain import compiler, run_compiler

# The output of each case of programs/engine.cpp.
RESULTS: Dict[str, List[str]] = {
    "views": [
        "21 17 13 9 5 1 20 16 12 8 4 0 23 19 15 11 7 3 22 18 14 10 6 2",
        "{2,2,4}{2,1,3,4}{4,2,3}{2,12}{4,3}{2,6,4}{2,3,2}1011",
    ],
    "upsample": ["0 0 1 1 2 2 0 1 2"],
    "overlapping_copy": ["0 0 1 2 3"],
    # The previous content of an Output is lost, whether or not compute() wrote it.
    "poison": ["1 1 nan nan"],
    "multivertex": ["0 1 2 3 4 5 6 7 8 9 10 11 12"],
    "rows": ["116 12"],  # 100 + 3 + 4 + 9, and 1 + 11
    "control": ["1 2 3 0"],
    "value_semantics": ["0 1"],
    "streams": ["2 1 4 3 2 1", "0 1 0 2 0 3"],  # a buffer is read in a circle
    "remote_buffer": ["7 8"],
    "serialise": ["11"],
    "virtual_graph": ["1472 4 2 1 [3,4)"],
    "clone": ["101half01"],
    "vectors_of_scalars": ["0 2 4 10 11 12"],
    "regions": ["[4,8) [0,4) 1"],
    # The largest half below infinity is 65504; ties go to even.
    "half": ["bits: {1,-2}", "0 0.333252 inf 2048 2052 0"],
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", sorted(RESULTS))
def test_results(run_program: Callable, case: str) -> None:
    done = run_program("engine", case)
    assert [line.rstrip() for line in done.stdout.splitlines()] == RESULTS[case], done.stderr


def test_loop_cost_depends_on_trips_and_estimates_apply_to_the_model_only(
    run_program: Callable,
) -> None:
    none, ten, twenty, model = map(int, run_program("engine", "data_dependent_cost").stdout.split())
    # Six cycles a bundle. An iteration loads, adds an index, compares and branches: 4 bundles of
    # the main pipe; the float addition runs in parallel. clang++ loads the bound again: 5.
    bundles = 5 if "clang" in run_compiler([*compiler(), "--version"]) else 4
    assert twenty - ten == 10 * bundles * 6
    assert ten - none >= 10 * 4 * 6
    assert model == 12345 + 11


@pytest.fixture(scope="module")
def output(run_program: Callable) -> str:
    return str(run_program("engine", "summary").stdout)


class TestProfile:
    def test_the_summary_has_the_sections_of_the_sdk_s_summary(self, output: str) -> None:
        at = [output.index(f"\n{name}") for name in ("Target:", "Graph:", "Memory Usage:")]
        assert at == sorted(at)
        assert "Execution (emulated cycles):" in output
        assert "Tiles per IPU:                             1,472" in output
        assert "OnTileExecute: sum" in output
        assert "Active Tiles:                 1 / 1,472" in output

    def test_a_profile_file_equals_the_engine_s_profile(self, run_program: Callable) -> None:
        summary, rest = run_program("engine", "report_file").stdout.split("\n", 1)
        intervals, rest = rest.split("\n\n", 1)
        lines = [summary, *rest.splitlines()]
        assert lines[0].startswith("11 1472 "), lines
        rows = [row.split(",") for row in intervals.splitlines()]
        assert len(rows) == int(summary.split()[2])
        assert [row[0] for row in rows[1:]] == [row[1] for row in rows[:-1]]  # without gaps
        assert rows[0][2] == "OnTileExecute"
        words = ("no vertices one by one", "autoReport.outputGraphProfile", "not JSON at byte 20")
        for line, word in zip(lines[1:], words):
            assert word in line, line
        assert len(lines) == 4

    def test_printed_tensors_go_to_the_given_stream(self, output: str) -> None:
        assert output.startswith("s: ")

    def test_the_tree_has_libpva_s_names_and_is_marked_as_emulated(self, output: str) -> None:
        profile = json.loads(output.splitlines()[-1])
        assert profile["emulated"] is True
        target = profile["compilation"]["target"]
        assert (target["numTiles"], target["bytesPerTile"]) == (1472, 638976)
        memory = profile["compilation"]["tiles"][9]["memory"]
        assert memory["category"]["variable"]["total"] == 4  # one float
        categories = memory["category"].values()
        assert memory["total"]["includingGaps"] == sum(c["total"] for c in categories)
        run = profile["execution"]["runs"][0]
        assert run["name"] == "first"
        (step,) = run["steps"]
        (ipu,) = step["ipus"]
        parts = ("syncCycles", "exchangeCycles", "computeCycles", "hostCycles")
        assert ipu["cycles"] == sum(step[part] for part in parts)
        assert ipu["cycles"] == profile["execution"]["totalCycles"]["total"]
        # 4 floats come from tile 0: 100 + 16 bytes / 4 a cycle; two syncs of 90.
        assert (step["exchangeCycles"], step["syncCycles"]) == (104, 180)
