"""Padding, halves, shared functions, plans and indices of convolutions against NumPy."""

from __future__ import annotations

import subprocess
from typing import Callable, List, Set, Tuple

import numpy as np
import pytest

from tests.emulator.printed import Tensors, printed_tensors


@pytest.fixture(scope="module")
def run(
    run_program: Callable[..., subprocess.CompletedProcess[str]],
) -> subprocess.CompletedProcess[str]:
    return run_program("library_helpers")


@pytest.fixture(scope="module")
def tensors(run: subprocess.CompletedProcess[str]) -> Tensors:
    assert run.returncode == 0, run.stderr
    return printed_tensors(run.stdout)


@pytest.mark.verify
def test_pad_takes_tensors_integers_and_doubles(tensors: Tensors) -> None:
    t = tensors["t"]
    padded = np.pad(t, [(1, 0), (0, 2)], constant_values=7.5)
    np.testing.assert_array_equal(tensors["by_tensor"], padded)
    in_one = np.pad(t[:, :2], [(0, 0), (1, 0)], constant_values=7.5)
    np.testing.assert_array_equal(tensors["by_tensor_in_one"], in_one)
    rows = np.pad(t, [(0, 2), (0, 0)], constant_values=3)
    np.testing.assert_array_equal(tensors["by_integer"], rows)
    columns = np.pad(t, [(0, 0), (1, 0)], constant_values=0.5)
    np.testing.assert_array_equal(tensors["by_double"], columns)


def test_pad_of_one_dimension_reflects(tensors: Tensors) -> None:
    reflected = np.pad(tensors["t"], [(0, 0), (1, 2)], mode="reflect")
    np.testing.assert_array_equal(tensors["reflected"], reflected)


def test_pad_refuses_a_value_of_many_elements(run: subprocess.CompletedProcess[str]) -> None:
    assert "pad: the value must be one element of type float, not {2,3}" in run.stderr


def test_functions_with_names_are_shared_by_calls(
    run: subprocess.CompletedProcess[str], tensors: Tensors
) -> None:
    assert "function doubling\n" in run.stderr
    np.testing.assert_array_equal(tensors["twice_a"], 2 * tensors["a"])
    np.testing.assert_array_equal(tensors["twice_b"], 2 * tensors["b"])
    np.testing.assert_array_equal(tensors["negated"], -tensors["a"])


def test_plans_of_several_lookups(run: subprocess.CompletedProcess[str]) -> None:
    assert "plans 2, products 0\n" in run.stderr


def test_doubles_are_rounded_to_halves_once(run: subprocess.CompletedProcess[str]) -> None:
    (halves,) = (line.split()[1:] for line in run.stdout.splitlines() if line[:6] == "halves")
    doubles = np.array([-1.5, 1 + 1 / 2048 + 1e-12, 1 + 1 / 2048, 65504, 1e-8])
    np.testing.assert_array_equal(np.array(halves, np.float64), doubles.astype(np.float16))


def transformed(
    size: int, truncation: Tuple[int, int], dilation: int, padding: Tuple[int, int], flip: bool
) -> np.ndarray:
    """Return the index of each element after the transforms of an operand, or -1."""
    kept = np.arange(size)[truncation[0] : size - truncation[1]]
    dilated = np.full((len(kept) - 1) * dilation + 1, -1)
    dilated[::dilation] = kept
    padded = np.pad(dilated, padding, constant_values=-1)
    return padded[::-1] if flip else padded


def contributions() -> Tuple[int, Set[Tuple[int, int, int]]]:
    """Return the outputs and every (output, kernel, input) of the program's convolution."""
    inputs = transformed(9, (1, 2), 2, (3, 2), True)
    kernel = transformed(4, (1, 0), 2, (0, 1), True)
    starts = range(len(inputs) - len(kernel) + 1)[1::2]
    found = {
        (output, int(k), int(inputs[start + place]))
        for output, start in enumerate(starts, 1)
        for place, k in enumerate(kernel)
        if k >= 0 and inputs[start + place] >= 0
    }
    return len(starts) + 2, found


def spanned(values: Set[int]) -> List[int]:
    return [min(values), max(values) + 1] if values else [0, 0]


def test_indices_and_ranges_of_a_convolution(run: subprocess.CompletedProcess[str]) -> None:
    outputs, expected = contributions()
    lines = [line.split() for line in run.stdout.splitlines()]
    indices = {tuple(map(int, line[1:])) for line in lines if line[0] == "index"}
    assert indices == expected
    assert "differs" not in run.stdout
    ranges = [list(map(int, line[1:])) for line in lines if line[0] == "ranges"]
    assert len(ranges) == outputs
    for output, *bounds in ranges:
        mine = [(k, i) for o, k, i in expected if o == output]
        assert bounds == spanned({i for _, i in mine}) + spanned({k for k, _ in mine})
    (of_parts,) = ([int(n) for n in line[1:]] for line in lines if line[0] == "outputs")
    by_kernel = spanned({o for o, k, _ in expected if k == 3})
    assert of_parts == by_kernel + spanned({o for o, _, i in expected if i == 4})
