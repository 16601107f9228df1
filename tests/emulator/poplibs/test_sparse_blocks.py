"""Block-sparse products, softmax and sparse embeddings against dense matrices in float64."""

from __future__ import annotations

import subprocess
from typing import Callable, Tuple

import numpy as np
import pytest

from tests.emulator.printed import Tensors, printed_tensors

pytestmark = pytest.mark.same_on_every_python

MASK = np.array([1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0], bool).reshape(2, 2, 3)


@pytest.fixture(scope="module")
def tensors(run_program: Callable[..., subprocess.CompletedProcess[str]]) -> Tensors:
    run = run_program("sparse_blocks")
    assert run.returncode == 0, run.stderr
    return printed_tensors(run.stdout)


def dense(blocks: np.ndarray, block: Tuple[int, int]) -> np.ndarray:
    """Return the matrices of two groups with 2 x 3 blocks of which the mask says the order."""
    out = np.zeros((2, 2, block[0], 3, block[1]))
    for place, values in zip(np.argwhere(MASK), blocks):
        out[place[0], place[1], :, place[2]] = values.reshape(block)
    return out.reshape(2, 2 * block[0], 3 * block[1])


@pytest.mark.parametrize("name", ["right", "transposed"])
def test_dense_by_sparse(tensors: Tensors, name: str) -> None:
    right = dense(tensors[f"{name}_right"], (2, 4))
    if name == "transposed":
        right = right.swapaxes(1, 2)
    left = tensors[f"{name}_left"].reshape(2, 4, -1)
    product = (left @ right).reshape(8, -1)
    np.testing.assert_allclose(tensors[f"{name}_product"], product, rtol=1e-5)


@pytest.mark.parametrize("name", ["all", "lower"])
def test_dense_by_dense_with_a_sparse_result(tensors: Tensors, name: str) -> None:
    left, right = tensors[f"{name}_left"], tensors[f"{name}_right"]
    product = left.reshape(2, 4, 5) @ right.reshape(2, 5, 12)
    if name == "lower":
        product = np.tril(product)
    found = dense(tensors[f"{name}_product"], (2, 4))
    there = dense(np.ones((6, 8)), (2, 4)) > 0
    np.testing.assert_allclose(found, np.where(there, product, 0), rtol=1e-5)


def test_softmax_of_what_is_there_and_its_gradient(tensors: Tensors) -> None:
    there = np.tril(dense(np.ones((6, 8)), (2, 4))) > 0
    powers = np.where(there, np.exp(dense(tensors["softmax_in"], (2, 4))), 0)
    sums = powers.sum(2, keepdims=True)
    out = np.divide(powers, sums, out=np.zeros_like(powers), where=sums > 0)
    np.testing.assert_allclose(dense(tensors["softmax_out"], (2, 4)), out, atol=1e-6)
    up = dense(tensors["softmax_up"], (2, 4))
    gradient = out * (up - (out * up).sum(2, keepdims=True))
    np.testing.assert_allclose(dense(tensors["softmax_gradient"], (2, 4)), gradient, atol=1e-6)


def test_rows_of_a_sparse_table_and_their_updates(tensors: Tensors) -> None:
    table = np.zeros((6, 8))
    table[0:2, 0:2], table[2:4, 4:6], table[4:6, 2:4] = (
        np.arange(first, first + 4).reshape(2, 2) for first in (1, 5, 9)
    )
    rows, there = [3, 0, 4, 3], table > 0
    np.testing.assert_array_equal(tensors["embedding_slices"], table[rows])
    np.add.at(table, rows, 0.5 * tensors["embedding_updates"])
    np.testing.assert_allclose(tensors["embedding_table"], np.where(there, table, 0), rtol=1e-6)
