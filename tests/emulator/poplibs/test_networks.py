"""Convolutions, pooling, batch norm and CTC loss against their definitions, as loops in float64."""

from __future__ import annotations

import itertools
import subprocess
from typing import Callable, List, Tuple

import numpy as np
import pytest

from tests.emulator.printed import Tensors, printed_tensors


@pytest.fixture(scope="module")
def done(run_program: Callable) -> subprocess.CompletedProcess[str]:
    run: subprocess.CompletedProcess[str] = run_program("networks")
    assert run.returncode == 0, run.stderr
    return run


@pytest.fixture(scope="module")
def tensors(done: subprocess.CompletedProcess[str]) -> Tensors:
    return printed_tensors(done.stdout)


def places(size: int, lower: int, upper: int, apart: int, around: Tuple[int, int], turned: bool):
    """Which element is at each place of a dimension that is transformed; None where none is."""
    kept: List = [None] * around[0]
    for index in range(lower, size - upper):
        kept += [index] + [None] * (apart - 1)
    if lower < size - upper:
        kept = kept[: len(kept) - (apart - 1)]
    kept += [None] * around[1]
    return kept[::-1] if turned else kept


def products(field, kernel, output) -> List[Tuple[int, int, int]]:
    """(output, input, weight) of every product of one dimension."""
    lower, upper, stride, before = output
    count = len(field) - len(kernel) + 1 - lower - upper
    terms = []
    for o in range(0, count, stride):
        for k, weight in enumerate(kernel):
            at = field[o + lower + k]
            if at is not None and weight is not None:
                terms.append((before + o // stride, at, weight))
    return terms


@pytest.mark.verify
def test_a_convolution_and_its_gradients(tensors: Tensors, done) -> None:
    x, w, dz = tensors["in"], tensors["weights"], tensors["d_out"]
    rows = products(
        places(7, 1, 0, 1, (2, 1), True), places(3, 0, 0, 2, (0, 1), False), (0, 1, 1, 0)
    )
    columns = products(
        places(6, 0, 1, 2, (0, 1), False), places(4, 1, 0, 1, (1, 0), True), (1, 0, 2, 1)
    )
    z, dx, dw = np.zeros(dz.shape), np.zeros(x.shape), np.zeros(w.shape)
    channels = list(itertools.product(range(2), range(3), range(2)))  # group, out, in
    for (oy, iy, ky), (ox, ix, kx) in itertools.product(rows, columns):
        for g, o, i in channels:
            to, of, by = (
                (slice(None), 3 * g + o, oy, ox),
                (slice(None), 2 * g + i, iy, ix),
                w[g, o, i],
            )
            z[to] += x[of] * by[ky, kx]
            dx[of] += dz[to] * by[ky, kx]
            dw[g, o, i, ky, kx] += np.sum(dz[to] * x[of])

    np.testing.assert_allclose(tensors["out"], z, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(tensors["d_in"], dx, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(tensors["d_weights"], dw, rtol=1e-5, atol=1e-5)
    biased = z + tensors["biases"][:, None, None]
    np.testing.assert_allclose(tensors["biased"], biased, rtol=1e-5, atol=1e-5)
    assert "createBiases: activations {2,4,7,6}" in done.stderr
    assert "6 output channels" in done.stderr
    assert f"flops {2 * 2 * len(channels) * len(rows) * len(columns)}" in done.stdout
    np.testing.assert_allclose(tensors["multi"], z, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(tensors["weights_updated"], w - dw / 2, rtol=1e-5, atol=1e-4)
    updated = tensors["biases"] + 2 * dz.sum(axis=(0, 2, 3))
    np.testing.assert_allclose(tensors["biases_updated"], updated, rtol=1e-5, atol=1e-4)
    assert "words 110\n" in done.stdout


def test_an_image_is_normalised_and_gets_a_fourth_channel(tensors: Tensors) -> None:
    normal = (tensors["image"] / 2 - tensors["offsets"]) * tensors["scales"]
    np.testing.assert_allclose(tensors["normal"][..., :3], normal, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(tensors["normal"][..., 3], 0)


def test_types_are_written_and_read_by_name(done) -> None:
    assert "names LOG_ADD swish avg 1\n" in done.stdout


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling_and_its_gradient(tensors: Tensors, kind: str) -> None:
    x, dz = tensors["pool_in"], tensors[f"{kind}_d_out"]
    z, dx = np.zeros(dz.shape), np.zeros(x.shape)
    for y, c in np.ndindex(*dz.shape[2:]):  # padded by 1 above, cropped by 1 on the left
        rows = slice(max(2 * y - 1, 0), min(2 * y + 2, 5))
        columns = slice(2 * c + 1, min(2 * c + 3, 6))
        window, gradient = x[:, :, rows, columns], dz[:, :, y, c][:, :, None, None]
        if kind == "max":
            z[:, :, y, c] = window.max(axis=(2, 3))
            dx[:, :, rows, columns] += gradient * (window == z[:, :, y, c][:, :, None, None])
        else:
            z[:, :, y, c] = window.mean(axis=(2, 3))
            dx[:, :, rows, columns] += gradient / window[0, 0].size

    np.testing.assert_allclose(tensors[kind], z, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(tensors[f"{kind}_d_in"], dx, rtol=1e-6, atol=1e-6)


def test_batch_norm_and_its_gradients(tensors: Tensors) -> None:
    """The gradient of the activations against finite differences."""
    gamma, beta, dz = tensors["gamma"], tensors["beta"], tensors["d_norm"]

    def whitened(x: np.ndarray) -> np.ndarray:
        mean, variance = x.mean(axis=(0, 2)), x.var(axis=(0, 2))
        result: np.ndarray = (x - mean[:, None]) / np.sqrt(variance + 1e-3)[:, None]
        return result

    acts = tensors["acts"]
    white = whitened(acts)
    np.testing.assert_allclose(
        tensors["norm"], gamma[:, None] * white + beta[:, None], rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(tensors["d_beta"], dz.sum(axis=(0, 2)), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        tensors["d_gamma"], (dz * white).sum(axis=(0, 2)), rtol=1e-5, atol=1e-5
    )
    step, numeric = 1e-5, np.zeros(acts.shape)
    for index in np.ndindex(*acts.shape):
        above, below = acts.copy(), acts.copy()
        above[index] += step
        below[index] -= step
        change = gamma[:, None] * (whitened(above) - whitened(below)) * dz
        numeric[index] = change.sum() / (2 * step)
    np.testing.assert_allclose(tensors["d_acts"], numeric, rtol=1e-4, atol=1e-4)


def test_a_kernel_larger_than_its_input_is_refused(done) -> None:
    assert "convolution: the kernel is larger than the input" in done.stdout


def ctc_by_paths(logits: np.ndarray, label: List[int], blank: int) -> Tuple[float, np.ndarray]:
    """Loss and gradient by the logits [time, classes], over all paths through the classes."""
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    total, shares = 0.0, np.zeros_like(p)
    for path in itertools.product(range(p.shape[1]), repeat=len(p)):
        read = [c for c, _ in itertools.groupby(path) if c != blank]
        if read == label:
            probability = np.prod([p[t, c] for t, c in enumerate(path)])
            total += probability
            shares[range(len(p)), path] += probability
    if total == 0:
        return np.inf, np.zeros_like(p)
    return -np.log(total), p - shares / total


@pytest.mark.parametrize(("kind", "tolerance"), [("float", 2e-6), ("half", 4e-3)])
def test_ctc_loss_and_its_gradient(tensors: Tensors, kind: str, tolerance: float) -> None:
    """Repeated, no and impossible labels, fewer steps than there are; one label is no class."""
    samples = [(4, [0, 1, 3]), (4, [1, 1]), (3, [3]), (2, []), (4, [1, 1, 1]), (4, None), (1, [3])]
    loss, gradient = np.full(7, np.nan), np.full((4, 7, 4), np.nan)
    for b, (steps, label) in enumerate(samples):
        if label is not None:
            gradient[:, b] = 0
            loss[b], gradient[:steps, b] = ctc_by_paths(tensors["logits"][:steps, b], label, 2)
    close = {"rtol": tolerance, "atol": tolerance}
    np.testing.assert_allclose(tensors[f"ctc_loss_{kind}"], loss, **close)
    np.testing.assert_allclose(tensors[f"ctc_gradient_{kind}"], gradient, **close)
    np.testing.assert_allclose(tensors[f"ctc_alone_{kind}"], loss, **close)
    assert np.isinf(loss[4])
    assert np.isfinite(loss).sum() == 5


def test_ctc_losses_of_other_sizes_than_planned_are_refused(done) -> None:
    assert "[time, batch, classes] of the plan's type, not float{7,4}" in done.stdout
    assert "the blank class 4 of 4 classes" in done.stdout
