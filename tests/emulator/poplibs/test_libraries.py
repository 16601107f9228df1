"""PopLibs' less common headers, in float and in half, against their definitions in float64."""

from __future__ import annotations

import subprocess
from math import erf
from typing import Callable

import numpy as np
import pytest

from tests.emulator.poplibs.test_layers import gru, lstm, normalised
from tests.emulator.printed import Tensors, printed_tensors

# The tolerance of each type after a few rounded operations.
TOLERANCE = {"float": 1e-5, "half": 4e-3}
types = pytest.mark.parametrize("kind", sorted(TOLERANCE))


@pytest.fixture(scope="module")
def done(run_program: Callable[..., subprocess.CompletedProcess[str]]) -> str:
    run = run_program("libraries")
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def tensors(done: str) -> Tensors:
    return printed_tensors(done)


class Case:
    """The tensors of a case in one type, compared with that type's tolerance."""

    def __init__(self, tensors: Tensors, kind: str, name: str) -> None:
        self.of, self.prefix, self.tolerance = tensors, f"{kind}_{name}_", TOLERANCE[kind]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.of[self.prefix + name].astype(float)

    def close(self, name: str, expected: np.ndarray) -> None:
        assert self[name].shape == np.shape(expected)
        np.testing.assert_allclose(
            self[name], expected, rtol=self.tolerance, atol=self.tolerance, err_msg=name
        )


@pytest.mark.verify
@types
def test_slices_by_group_and_of_two_dimensions(tensors: Tensors, kind: str) -> None:
    case = Case(tensors, kind, "slices")
    tables, places = case["tables"], np.array([[3, 0, 3], [1, 2, 1]])
    case.close("lookups", np.stack([tables[g][places[g]] for g in range(2)])[:, :, None])
    for g in range(2):
        np.add.at(tables[g], places[g], 0.5 * case["updates"][g, :, 0])
    case.close("updated", tables)
    cells = case["cells"]
    windows = np.stack([cells[0:2, 3:5], cells[1:3, 1:3]])
    case.close("windows", windows)
    cells[0:2, 3:5] += 2 * windows[0]
    cells[1:3, 1:3] += 2 * windows[1]
    case.close("doubled", cells)


@types
def test_losses_of_scaled_outputs_leave_out_masked_labels(tensors: Tensors, kind: str) -> None:
    case = Case(tensors, kind, "loss")
    p = np.exp(case["in"]) / np.exp(case["in"]).sum(axis=1, keepdims=True)
    case.close("loss", np.array([-np.log(p[0, 2]), 0, -np.log(p[2, 0])]))
    deltas = p.copy()
    deltas[[0, 2], [2, 0]] -= 1
    deltas[1] = 0
    case.close("deltas", 8 * deltas)
    case.close("least", case["in"].min(axis=1))
    np.testing.assert_array_equal(case["place"], case["in"].argmin(axis=1))


@types
def test_correct_samples_are_added_to_those_before(tensors: Tensors, done: str, kind: str) -> None:
    """Two of four samples are right, one is masked: 5 + 3 * 2."""
    case = Case(tensors, kind, "accuracy")
    assert (case["correct"], case["by_loss"]) == (11, 11)
    least = {"float": np.finfo(np.float32).tiny, "half": 2.0**-24}[kind]
    case.close("loss", -np.log([0.7, 0.6, 1.0, least]))
    assert done.count("only the loss CROSS_ENTROPY_LOSS can be scaled") == 2


@types
def test_gelu_by_the_error_function(tensors: Tensors, kind: str) -> None:
    case = Case(tensors, kind, "loss")
    x = case["in"]
    share = (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2
    case.close("gelu", x * share)
    slope = share + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    case.close("gelu_gradient", case["dy"] * slope)


@types
def test_scaled_sums_powers_and_deviations(tensors: Tensors, kind: str) -> None:
    case = Case(tensors, kind, "elements")
    a, b = case["a"], case["b"]
    case.close("moved", 2 * (a - 0.25 * a + 0.5 * b) - 0.5 * b)
    case.close("power", 2**a)
    case.close("deviation", 1 / np.sqrt(a * a + 0.25))


@types
def test_triangular_systems(tensors: Tensors, kind: str) -> None:
    case = Case(tensors, kind, "linear")
    a = case["a"]
    unit = np.tril(a, -1) + np.eye(3)
    case.close("solved", case["right"] @ np.linalg.inv(unit))
    lower = np.linalg.cholesky(a @ a.transpose(0, 2, 1) + 8 * np.eye(3))
    case.close("lower", lower)
    case.close("upper", lower.transpose(0, 2, 1))
    case.close("b", np.linalg.solve(lower, case["left"]))


@types
def test_layers(tensors: Tensors, kind: str) -> None:
    case = Case(tensors, kind, "layers")
    acts = case["acts"]
    groups = normalised(acts.reshape(2, 2, 2, 3), (1, 3)).reshape(acts.shape)
    case.close("norm", groups)  # channels 0 and 2, and 1 and 3
    x, h, ends = case["x"], case["h"], np.full(2, 2)
    *outputs, cell = lstm("figo", ends, x, h, h, case["wi4"], case["wo4"], case["b4"])
    case.close("lstm", np.array(outputs))
    case.close("cell", cell)
    case.close("gru", gru(ends, x, h, case["wi3"], case["wo3"], case["b3"]))


@types
def test_histograms_and_slices_of_sequences(tensors: Tensors, kind: str) -> None:
    case = Case(tensors, kind, "counts")
    rows = case["in"].T
    edges = np.array([-np.inf, -0.5, 1, np.inf])
    np.testing.assert_array_equal(case["histogram"], np.histogram(rows, edges)[0])
    np.testing.assert_array_equal(case["more"], 100 + np.histogram(abs(rows), edges)[0])
    for name, before in (("copied", case["to1"]), ("zeroed", np.zeros((5, 4)))):
        before[[3, 4, 0]] = rows[[1, 2, 5]]
        np.testing.assert_array_equal(case[name], before)


@types
def test_sparse_weights(tensors: Tensors, done: str, kind: str) -> None:
    """Four blocks of {2, 3}, by rows, in two groups of weights [4, 6]."""
    case = Case(tensors, kind, "sparse")
    weights, values = np.zeros((8, 6)), np.arange(1, 25).reshape(4, 2, 3) / 4
    places = [(0, 3), (2, 0), (4, 3), (6, 0)]
    for (row, column), block in zip(places, values):
        weights[row : row + 2, column : column + 3] = block
    w, x, dy = weights.reshape(2, 4, 6), case["x"].reshape(3, 2, 6), case["dy"].reshape(3, 2, 4)
    case.close("y", np.einsum("bgi,goi->bgo", x, w).reshape(3, 8))
    case.close("dx", np.einsum("bgo,goi->bgi", dy, w).reshape(3, 12))
    dw = np.einsum("bgo,bgi->goi", dy, x).reshape(8, 6)
    blocks = [dw[row : row + 2, column : column + 3].ravel() for row, column in places]
    case.close("dw", np.concatenate([*blocks, np.zeros(6)]))
    assert done.count("the matrix has other blocks than the parameters") == 2


@types
def test_softmax_of_fields_grids_and_transpositions(tensors: Tensors, done: str, kind: str) -> None:
    case = Case(tensors, kind, "views")
    fields = case["in"]
    weights = np.exp(2 * fields)
    weights /= weights.sum(axis=(1, 2), keepdims=True)
    rows, columns = np.linspace(-1, 1, 3)[:, None], np.linspace(-1, 1, 8)[None]
    for name, of in (("means", weights), ("sums", fields)):
        case.close(name, np.stack([(of * p).sum(axis=(1, 2)) for p in (rows, columns)], 1))
    case.close("temperature", np.array([0.5]))
    x, y = np.meshgrid(np.linspace(-1, 2, 7), fields[0, 0])
    case.close("x", x)
    case.close("y", y)
    for name in ("turned", "each", "grouped"):
        np.testing.assert_array_equal(case[name], fields.swapaxes(1, 2))
    assert f"grouped by 4 {int(kind == 'half')}\n" in done


def test_empty_views_and_contiguous_parts(done: str) -> None:
    assert done.count("no window {0,1,5}\n") == 2
    assert "parts 1 1 1 1 1 1; innermost 2\n" in done


def test_functions_of_few_programs_equal_their_definition(run_program: Callable) -> None:
    done = run_program("library_rows")
    assert done.returncode == 0, done.stderr
    values = {}
    for line in done.stdout.splitlines():
        name, value = line.rsplit(": ", 1)
        values[name] = float(value)
    assert values.pop("products") == 3
    assert values.pop("V<popops::Operation::SQUARE_ADD>") == 1
    assert len(values) == 3 + 1 + 3 + 2 * (5 + 4 + 6) + 3 * 3
    assert max(values.values()) < 1e-4, values
