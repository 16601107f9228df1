"""Block-sparse products, softmax and sparse embeddings against dense matrices in float64."""

from __future__ import annotations

import subprocess
from typing import Callable, Tuple

import numpy as np
import pytest

from tests.emulator.printed import Tensors, printed_tensors

MASK = np.array([1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0], bool).reshape(2, 2, 3)
LOWER = np.array([0, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1], bool).reshape(2, 2, 3)


@pytest.fixture(scope="module")
def run(
    run_program: Callable[..., subprocess.CompletedProcess[str]],
) -> subprocess.CompletedProcess[str]:
    return run_program("sparse_blocks")


@pytest.fixture(scope="module")
def tensors(run: subprocess.CompletedProcess[str]) -> Tensors:
    assert run.returncode == 0, run.stderr
    return printed_tensors(run.stdout)


def dense(blocks: np.ndarray, block: Tuple[int, int], mask: np.ndarray = MASK) -> np.ndarray:
    """Return the matrices of two groups with 2 x 3 blocks of which the mask says the order."""
    out = np.zeros((2, 2, block[0], 3, block[1]))
    for place, values in zip(np.argwhere(mask), blocks):
        out[place[0], place[1], :, place[2]] = values.reshape(block)
    return out.reshape(2, 2 * block[0], 3 * block[1])


@pytest.mark.verify
@pytest.mark.parametrize("name", ["right", "transposed"])
def test_dense_by_sparse(tensors: Tensors, name: str) -> None:
    right = dense(tensors[f"{name}_right"], (2, 4))
    if name == "transposed":
        right = right.swapaxes(1, 2)
    left = tensors[f"{name}_left"].reshape(2, 4, -1)
    product = (left @ right).reshape(8, -1)
    np.testing.assert_allclose(tensors[f"{name}_product"], product, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "mask", "block"), [("all", MASK, (2, 4)), ("lower", LOWER, (4, 2))]
)
def test_dense_by_dense_with_a_sparse_result(
    tensors: Tensors, name: str, mask: np.ndarray, block: Tuple[int, int]
) -> None:
    left, right = tensors[f"{name}_left"], tensors[f"{name}_right"]
    product = left.reshape(2, -1, 5) @ right.reshape(2, 5, -1)
    if name == "lower":
        product = np.tril(product)
    found = dense(tensors[f"{name}_product"], block, mask)
    there = dense(np.ones((mask.sum(), 8)), block, mask) > 0
    np.testing.assert_allclose(found, np.where(there, product, 0), rtol=1e-5)


def test_softmax_of_what_is_there_and_its_gradient(tensors: Tensors) -> None:
    def whole(name: str) -> np.ndarray:
        return dense(tensors[f"softmax_{name}"], (4, 2), LOWER)

    there = np.tril(dense(np.ones((7, 8)), (4, 2), LOWER)) > 0
    assert not there[0, :2].any()
    powers = np.where(there, np.exp(whole("in")), 0)
    sums = powers.sum(2, keepdims=True)
    out = np.divide(powers, sums, out=np.zeros_like(powers), where=sums > 0)
    np.testing.assert_allclose(whole("out"), out, atol=1e-6)
    up = whole("up")
    gradient = out * (up - (out * up).sum(2, keepdims=True))
    np.testing.assert_allclose(whole("gradient"), gradient, atol=1e-6)


def test_a_block_that_the_mask_hides_is_refused(run: subprocess.CompletedProcess[str]) -> None:
    assert "block [1,0]" in run.stderr


def test_rows_of_a_sparse_table_and_their_updates(tensors: Tensors) -> None:
    table = np.zeros((6, 8))
    table[0:2, 0:2], table[2:4, 4:6], table[4:6, 2:4] = (
        np.arange(first, first + 4).reshape(2, 2) for first in (1, 5, 9)
    )
    rows, there = [3, 0, 4, 3], table > 0
    np.testing.assert_array_equal(tensors["embedding_slices"], table[rows])
    np.add.at(table, rows, 0.5 * tensors["embedding_updates"])
    np.testing.assert_allclose(tensors["embedding_table"], np.where(there, table, 0), rtol=1e-6)
