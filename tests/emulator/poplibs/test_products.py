"""Products and convolutions in the share of a tile's memory that their options give them."""

from __future__ import annotations

from typing import Callable, Dict

import pytest


def measured(run_program: Callable, kind: str, share: str) -> Dict[str, str]:
    done = run_program("serial_products", kind, share)
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.verify
@pytest.mark.parametrize("kind", ["product", "convolution"])
def test_serial_parts_take_less_memory(run_program: Callable, kind: str) -> None:
    whole, parts = (measured(run_program, kind, share) for share in ("9", "0.05"))
    assert (whole["right"], parts["right"]) == ("1", "1")
    assert int(parts["bytes"]) < 0.5 * int(whole["bytes"])


def test_a_small_share_lets_a_product_fit(run_program: Callable) -> None:
    whole, parts = (measured(run_program, "product", share) for share in ("9", "0.1"))
    assert int(whole["overflow"]) > 0
    assert int(parts["overflow"]) == 0
    assert whole["plan"].startswith("1 x 1 serial parts")
    assert not parts["plan"].startswith("1 x 1 ")


@pytest.mark.parametrize("share", ["-0.1", "much", "", "nan"])
def test_wrong_shares_are_refused(run_program: Callable, share: str) -> None:
    assert "availableMemoryProportion" in measured(run_program, "product", share)["refused"]


def test_products_with_sparse_matrices_that_the_host_gives(run_program: Callable) -> None:
    done = run_program("sparse_products")
    assert done.returncode == 0, done.stderr
    fixed, params, unknown, sizes, result = done.stdout.splitlines()
    assert fixed.split() == list("123456" * 2)
    assert "m=6, k=8, n=3" in params
    assert "createSparseDenseMatMulLHS" in unknown
    assert "{1,8,3}" in sizes
    assert result == "0 of 12 differ"
