"""PopLibs' operations, on tensors small enough to check by hand."""

from __future__ import annotations

from typing import Callable, Dict

import pytest

# The output of each case of programs/popops.cpp.
RESULTS: Dict[str, str] = {
    "map": "{2,3} -0 -1 16 16 19 22",
    "in_place": "{4} -1 0 1 2",
    "integers": "{4} -2 -3 0 3",  # division and remainder truncate, as in C
    "wraps": "{2} 1 2",
    "large_constant": "{1} 4e+09",
    "compare_and_cast": "{4} 0 0 1 1",
    "half": "{2} 4096 4096",  # 2049 is no half: ties go to even
    "fill": "{4} 0 4.29497e+09 4.29497e+09 0",
    "reduce": "{11} 60 92 124 8 9 10 11 20 21 22 23",
    "reduce_update": "{2} 160 206",
    "reduce_many": "{3} 2 4 6",
    "dynamic_slice": "{2,3} 12 13 14 0 1 2",  # indices wrap around
    "dynamic_slice_of_two": "{2,1} 6 10",
    "dynamic_update": "{3,2} 0 70 2 71 90 72",
    "counted_loop": "{1} 21",
    "mat_mul": "{2,2} 22 28 49 64",
    # Rows 0 1 2 -0 -1 -2 and 3 4 5 -3 -4 -5: values, their places, and the two smallest.
    "top_k": "{6,2} 1 2 4 5 1 2 1 2 -1 -2 -4 -5",
    "scaled_add": "{3} -20 -20 -20",
    # -1 0 1 2 where above 0, else 9; the other way round; held; by a sign; held in place.
    "numbers_in_ternaries": "{20} 9 9 1 2 -1 0 9 9 0 0 1 1.5 -1 -1 -1 1 -1 0 1 2",
    "split_groups": "[0,4)+ [4,5)[10,12)+[20,21)+",
    "poputil": "4[0,24) ns::V<float,true,3,unsigned int> V {3,100} {2,3}{2,3}",
    "errors": " ".join(["poplibs_error"] * 2 + ["unknown_vertex_type"] + ["poplibs_error"] * 9),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", sorted(RESULTS))
def test_results(run_program: Callable, case: str) -> None:
    done = run_program("popops", case)
    assert done.stdout.strip() == RESULTS[case], done.stderr


def test_random_numbers_have_their_distribution_and_repeat_with_their_seed(
    run_program: Callable,
) -> None:
    words = run_program("popops", "random").stdout.split()
    total, least, most, same, other, normal, squares, *counts = map(float, words[1:])
    n = 6000
    assert -1 <= least < -0.99
    assert 2.99 < most < 3
    # Five standard deviations of the mean: sqrt(16 / 12 / n) and 2 / sqrt(n).
    assert abs(total / n - 1) < 5 * (16 / 12 / n) ** 0.5
    assert abs(normal / n - 5) < 5 * 2 / n**0.5
    assert abs(squares / n - 4) < 5 * 4 * (2 / n) ** 0.5
    assert same == 0
    assert other > n
    # Whole numbers from -1 to 1, the ends as likely as the middle.
    assert sum(counts) == n
    assert all(abs(count - n / 3) < 5 * (n * 2 / 9) ** 0.5 for count in counts), counts


@pytest.mark.verify
def test_reductions_of_tensors_that_no_tile_holds(run_program: Callable) -> None:
    done = run_program("large_reductions")
    assert done.returncode == 0, done.stderr
    lines = [line.split(":") for line in done.stdout.splitlines()]
    results = {name: [float(word) for word in rest.split()] for name, rest in lines}
    elements = 512 * 512
    assert results == {
        "sum": [elements + 4],
        "max": [5],
        "halves": [elements / 4],
        "integers": [elements * 3],
        "updated": [100 + (elements - 1 + 25) / 2],
        "kept": [elements / 2 + 4, elements / 2],
        "least": [1],
        "row": [512 + 4],
    }


@pytest.mark.verify
def test_slices_and_updates_of_a_table_in_parts(run_program: Callable) -> None:
    done = run_program("large_slices")
    assert done.returncode == 0, done.stderr
    cases = dict(line.split(": ") for line in done.stdout.splitlines())
    assert len(cases) == 2 * 2 * 5 + 2
    assert set(cases.values()) == {"same"}, cases
