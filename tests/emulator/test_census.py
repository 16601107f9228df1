"""Small programs for what public Poplar programs use, each with the value that it must print."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import numpy as np
import pytest


def numbers(output: str) -> Dict[str, List[float]]:
    lines = [line.split(":") for line in output.splitlines()]
    return {name: [float(word) for word in rest.split()] for name, rest in lines}


@pytest.fixture(scope="module")
def printed(run_program: Callable) -> Dict[str, List[float]]:
    done = run_program("census")
    assert done.returncode == 0, done.stderr
    return numbers(done.stdout)


class TestCodelets:
    @pytest.mark.verify
    def test_intrinsics_are_overloaded_by_type(self, printed: Dict[str, List[float]]) -> None:
        extremes = [0.75, -0.25, 3, 2, 0.5]
        sums = [3 + 10 * 12, 3, 2 + 10 * 8]
        bits = [2, 3, 0]
        clamped, is_nan, is_finite = 1 + 2, 0 + 2 * 1, -1 + 2 * 0
        expected = [*extremes, *sums, *bits, clamped, is_nan, is_finite, 77, 4]
        assert printed["Intrinsics"] == expected

    def test_half_has_limits_and_literals(self, printed: Dict[str, List[float]]) -> None:
        assert printed["Limits"] == [65504, -65504, 1, 11, -13, 1.5]

    def test_vectors_have_members(self, printed: Dict[str, List[float]]) -> None:
        assert printed["ExtVectors"] == [3, 8, 10, 4, 6, -1, 4]

    def test_functions_are_always_inlined(self, printed: Dict[str, List[float]]) -> None:
        assert printed["Swap"] == [4, 3]

    def test_fields_are_used_like_their_elements(self, printed: Dict[str, List[float]]) -> None:
        assert printed["Fields"] == [3, 5, 8, 8, 8, 6]
        assert (printed["n"], printed["m"], printed["o"]) == ([16], [16], [3])


@pytest.mark.verify
def test_host_programs_of_every_spelling(run_program: Callable) -> None:
    done = run_program("census_host")
    assert done.returncode == 0, done.stderr
    words = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    for name in ("graph", "executable"):
        assert f"moved-from {name.capitalize()} is empty" in words.pop(name)
    assert "from 2^-32 to 2^31" in words.pop("scale")
    assert words == {
        "standard": "15 unsigned int 110 2 1",
        "casts": "15872 -65504 nan",
        "version": "00",
        "cloneN": "{3,2,3} half",
        "index": "1 1 4",
        "groupings": "1 4 0 4 1 4 0 2",
        "argument": "t {2,3} 2",
        "debug": "caller",
        "collective": "ADD",
        "members": "2 1",
        "arguments": "4",
        "metadata": f"quarter_metadata {0x80 | (-2 & 0x3F)} quarter_metadata 3",
        "stamps": "2 2",
        "fetched": "3 0",
        "constants": "-3 4 1.5 1.5",
        "halves": f"24 {0x3E00} 100 {0xFC00} 010 {0x8001} 000 {0x7C01} 001 1.75",
    }


@pytest.mark.verify
def test_outputs_keep_their_old_elements(run_program: Callable) -> None:
    done = run_program("census_outputs", "false", more=(("POPLAR_ENGINE_OPTIONS", "{}"),))
    kept = numbers(done.stdout)
    assert (kept["here"], kept["pieces"]) == ([0, 1, 0], [0, 0, 1, 0, 0, 0])
    # The memory of another tile is not copied in.
    np.testing.assert_array_equal(kept["far"], [np.nan, 1, np.nan])
    poisoned = numbers(run_program("census_outputs", "true").stdout)
    np.testing.assert_array_equal(poisoned["here"], [np.nan, 1, np.nan])
    np.testing.assert_array_equal(poisoned["pieces"], [np.nan, 0, 1, 0, np.nan, 0])


@pytest.mark.verify
def test_what_programs_for_older_sdks_rely_on(run_program: Callable) -> None:
    """Memory that nothing wrote is zero, and a field is the vector in it."""
    done = run_program("older_styles", "false", more=(("POPLAR_ENGINE_OPTIONS", "{}"),))
    assert done.returncode == 0, done.stderr
    assert numbers(done.stdout) == {
        "attributes": [6],
        "out": [1, 2, 3, 4 + 10 * 2 + 100 * 0 + 3 + 1000 * 2],
        "unwritten": [0, 0],
    }
    poisoned = numbers(run_program("older_styles", "true").stdout)
    np.testing.assert_array_equal(poisoned["unwritten"], [np.nan, np.nan])
    np.testing.assert_array_equal(poisoned["out"], [1, 2, 3, np.nan])


@pytest.mark.verify
def test_vertices_of_poplibs_have_their_names(run_program: Callable) -> None:
    done = run_program("named_vertices")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["slice {2,1,4}", "Max 5 11", "Min -3 12"]


class TestSupervisors:
    @pytest.mark.verify
    def test_a_supervisor_runs_the_workers_of_a_vertex_by_its_name(
        self, run_program: Callable
    ) -> None:
        done = run_program("worker_launch", "ByName")
        assert done.stdout == "101 4 9 16 25 36 49 64 \n", done.stderr

    def test_a_supervisor_runs_the_workers_by_an_address(self, run_program: Callable) -> None:
        """Values in registers are kept, and workers know their numbers."""
        done = run_program("worker_launch", "ByAddress")
        assert done.stdout == "21 43 63 84 105 126 27 48 \n", done.stderr

    def test_workers_of_a_vertex_that_is_not_there_are_refused(self, run_program: Callable) -> None:
        assert "refused: " in run_program("worker_launch", "Unknown").stdout


class TestPopc:
    @pytest.mark.sample(2)
    @pytest.mark.parametrize(
        ("body", "target", "said"),
        [
            ("plain", "ipu", "3"),
            ("heap", "ipu", "operator new[]"),
            ("heap", "model", "operator new[]"),
            ("stream", "model", "undefined symbol 'std::"),
            ("recursion", "ipu", "DEF_STACK_USAGE"),
            ("recursion", "model", "9"),
            ("declared", "ipu", "9"),
            ("virtual", "ipu", "DEF_STACK_USAGE"),
        ],
    )
    def test_what_a_tile_cannot_link(
        self, run_program: Callable, body: str, target: str, said: str
    ) -> None:
        done = run_program("census_link", body, target)
        assert done.returncode == 0, done.stderr
        if said.isdigit():
            assert done.stdout == f"{said}\n"
        else:
            assert said in done.stdout

    @pytest.mark.verify
    def test_a_device_gets_the_codelets_of_its_pass(self, run_program: Callable) -> None:
        assert run_program("census_passes", "ipu").stdout.strip() == "10 534"
        assert run_program("census_passes", "model").stdout.strip() == "01 534"

    @pytest.mark.sample(2)
    @pytest.mark.parametrize(
        ("declared", "named"),
        [
            ("int {}[4]", "int[4]"),
            ("char *{}", "char*"),
            ("double {}", "double"),
            ("Pair {}", "Pair"),
            ("Input<Pair> {}", "Input<Pair>"),
        ],
    )
    def test_types_that_no_field_has(
        self, declared: str, named: str, prefix: Path, tmp_path: Path, environment: Dict[str, str]
    ) -> None:
        source = tmp_path / "codelet.cpp"
        field = declared.format("bad")
        source.write_text(
            "#include <poplar/Vertex.hpp>\nusing namespace poplar;\nstruct Pair { int a, b; };\n"
            f"class C : public Vertex {{ public: static int s; {field}; "
            "bool compute() { return true; } };\n"
        )
        command = [str(prefix / "bin" / "popc"), str(source), "-o", str(tmp_path / "c.gp")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        error = re.search(r"Field 'C\.bad' has unsupported field type '(.*)'", done.stderr)
        assert error is not None
        assert error[1].replace(" ", "").replace("poplar::", "") == named

    def test_build_scripts_read_the_version(self, prefix: Path) -> None:
        command = [str(prefix / "bin" / "popc"), "--version"]
        first = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert re.fullmatch(r"\d+\.\d+\.\d+", first.splitlines()[0].split()[2])


def test_updates_multiply_or_keep_the_larger(run_program: Callable) -> None:
    done = run_program("multi_updates")
    assert done.returncode == 0, done.stderr
    assert numbers(done.stdout) == {
        # Rows 2, 0 and 2 of {2, 3}, {4, 5}, {6, 7} by {2, 3}, {4, 5} and {6, 7}.
        "mul one": [2 * 4, 3 * 5, 4, 5, 6 * 2 * 6, 7 * 3 * 7],
        "mul two": [2, 3 * 3, 4, 5 * 2, 6, 7],
        "mul groups": [2, 3 * 2, 4 * 3, 5],
        "max one": [4, 5, 4, 5, 6, 7],
        "max two": [2, 3, 4, 5, 6, 7],
        "max groups": [2, 3, 4, 5],
    }


class TestProducts:
    def test_a_static_sparse_matrix(self, run_program: Callable) -> None:
        done = run_program("census_products", "sparse")
        values = numbers(done.stdout)
        sparse = np.zeros((4, 6))
        sparse[0:2, 2:4] = [[1, 2], [3, 4]]
        sparse[2:4, 4:6] = [[5, 6], [7, 8]]
        right, left = np.arange(18.0).reshape(6, 3), np.arange(12.0).reshape(3, 4)
        assert values["sparse dense"] == list((sparse @ right).ravel())
        assert values["constant dense"] == list((2 * sparse @ right).ravel())
        assert "8 values: it has no metadata" in done.stderr
        assert "7 values: its metadata has 8 places" in done.stderr
        assert values["dense sparse"] == list((left @ sparse).ravel())
        ending = np.zeros((2, 6))
        ending[0, 1], ending[1, 0] = 9, 8
        assert values["ending dense"] == list((ending @ right).ravel())

    @pytest.mark.parametrize(
        ("sizes", "planned"),
        [((96, 160, 112), "linear"), ((1024, 1024, 1024), "planned"), ((900, 600, 300), "linear")],
    )
    def test_large_products_are_planned_in_bounded_memory(
        self, run_program: Callable, sizes: Tuple[int, int, int], planned: str
    ) -> None:
        run = "run" if max(sizes) < 200 else "compile"
        done = run_program("census_products", planned, run, *map(str, sizes))
        assert done.returncode == 0, done.stderr
        values = numbers(done.stdout)
        if run == "run":
            assert values["wrong"] == [0]
        assert values["megabytes"][0] < 500
