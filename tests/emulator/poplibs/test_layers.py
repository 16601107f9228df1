"""Norms, recurrent layers, scatter, gather and collectives against their definitions in float64.

Gradients are judged by complex steps: of an analytic function, the imaginary part of its value at
x + ih is h times its derivative, to the last digit.
"""

from __future__ import annotations

import subprocess
from typing import Callable, Dict, Tuple

import numpy as np
import pytest

from tests.emulator.printed import Tensors, printed_tensors


@pytest.fixture(scope="module")
def done(
    run_program: Callable[..., subprocess.CompletedProcess[str]],
) -> subprocess.CompletedProcess[str]:
    run = run_program("layers")
    assert run.returncode == 0, run.stderr
    return run


@pytest.fixture(scope="module")
def tensors(done: subprocess.CompletedProcess[str]) -> Tensors:
    return printed_tensors(done.stdout)


def derivative(of: Callable[..., np.ndarray], at: Dict[str, np.ndarray], by: str) -> np.ndarray:
    """Return the gradient of a scalar function of the arrays `at` with respect to one of them."""
    gradient = np.zeros(at[by].shape)
    for index in np.ndindex(*gradient.shape):
        moved = at[by].astype(complex)
        moved[index] += 1e-30j
        gradient[index] = of(**{**at, by: moved}).imag / 1e-30
    return gradient


def close(actual: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-5)


def normalised(x: np.ndarray, dims: Tuple[int, ...], unbiased: int = 0) -> np.ndarray:
    mean = x.mean(axis=dims, keepdims=True)
    count = np.prod([x.shape[dim] for dim in dims]) - unbiased
    variance = ((x - mean) ** 2).sum(axis=dims, keepdims=True) / count
    result: np.ndarray = (x - mean) / np.sqrt(variance + 1e-3)
    return result


@pytest.mark.verify
@pytest.mark.parametrize("name", ["strided", "grouped"])
def test_group_norm_and_its_gradients(tensors: Tensors, name: str) -> None:
    """6 channels in 2 groups: every second one, or the first and the last three."""
    dz = tensors[f"{name}_dz"]
    shape, dims = ((2, 3, 2, 3), (1, 3)) if name == "strided" else ((2, 2, 3, 3), (2, 3))

    def forward(acts: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
        white = normalised(acts.reshape(shape), dims).reshape(acts.shape)
        result: np.ndarray = gamma[:, None] * white + beta[:, None]
        return result

    at = {key: tensors[f"{name}_{key}"] for key in ("acts", "gamma", "beta")}
    close(tensors[name], forward(**at))
    for key in at:
        gradient = derivative(lambda **x: (forward(**x) * dz).sum(), at, key)
        close(tensors[f"{name}_d{key}"], gradient)


@pytest.mark.sample(0)
def test_layer_and_instance_norm(tensors: Tensors) -> None:
    acts = tensors["norm_acts"]
    close(tensors["layer_norm"], normalised(acts, (1, 2), unbiased=1))
    close(tensors["instance_norm"], normalised(acts, (2,)))


def sigmoid(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = 1 / (1 + np.exp(-x))
    return result


# The time steps of each sample in the layers that are "varied".
STEPS = np.array([3, 1])


def lstm(
    order: str,
    ends: np.ndarray,
    x: np.ndarray,
    h: np.ndarray,
    c: np.ndarray,
    wi: np.ndarray,
    wo: np.ndarray,
    b: np.ndarray,
) -> np.ndarray:
    """Outputs of all steps, 0 after a sample's last one, and the last cell state."""
    outputs = []
    for t, step in enumerate(x):
        active = (t < ends)[:, None]
        units = np.einsum("bi,uio->ubo", step, wi) + np.einsum("bi,uio->ubo", h, wo) + b[:, None]
        f, i, g, o = (units[order.index(unit)] for unit in "figo")
        c = np.where(active, sigmoid(f) * c + sigmoid(i) * np.tanh(g), c)
        h = np.where(active, sigmoid(o) * np.tanh(c), h)
        outputs.append(h * active)
    return np.array([*outputs, c])


@pytest.mark.parametrize("name", ["lstm", "lstm_last", "lstm_varied"])
def test_lstm_and_its_gradients(tensors: Tensors, name: str) -> None:
    """All outputs; only the last one, with another order of units; and variable time steps."""
    order = "ifgo" if name == "lstm_last" else "figo"
    ends = STEPS if name == "lstm_varied" else np.full(2, 3)
    at = {key: tensors[f"{name}_{key}"] for key in ("x", "h", "c", "wi", "wo", "b")}
    *outputs, cell = lstm(order, ends, **at)
    close(tensors[name], outputs[-1] if name == "lstm_last" else np.array(outputs))
    close(tensors[f"{name}_cell"], cell)
    weights = np.zeros((4, 2, 4))
    weights[2 if name == "lstm_last" else slice(3)] = tensors[f"{name}_dy"]
    weights[3] = tensors[f"{name}_dlast"]
    for key in at:
        gradient = derivative(lambda **by: (lstm(order, ends, **by) * weights).sum(), at, key)
        close(tensors[f"{name}_d{key}"], gradient)


def gru(
    ends: np.ndarray,
    x: np.ndarray,
    h: np.ndarray,
    wi: np.ndarray,
    wo: np.ndarray,
    b: np.ndarray,
) -> np.ndarray:
    """b of three dimensions: the reset gate after the product."""
    after = b.ndim == 3
    first, second = (b[:, 0], b[:, 1]) if after else (b, np.zeros(b.shape))
    outputs = []
    for t, step in enumerate(x):
        active = (t < ends)[:, None]
        ahead = np.einsum("bi,uio->ubo", step, wi) + first[:, None]
        products = np.einsum("bi,uio->ubo", h, wo) + second[:, None]
        r, u = sigmoid(ahead[0] + products[0]), sigmoid(ahead[1] + products[1])
        candidate = np.tanh(ahead[2] + (r * products[2] if after else (r * h) @ wo[2]))
        h = np.where(active, u * h + (1 - u) * candidate, h)
        outputs.append(h * active)
    return np.array(outputs)


@pytest.mark.parametrize("name", ["gru", "gru_after", "gru_varied"])
def test_gru_and_its_gradients(tensors: Tensors, name: str) -> None:
    at = {key: tensors[f"{name}_{key}"] for key in ("x", "h", "wi", "wo", "b")}
    ends = STEPS if name == "gru_varied" else np.full(2, 3)
    close(tensors[name], gru(ends, **at))
    for key in at:
        gradient = derivative(lambda **by: (gru(ends, **by) * tensors[f"{name}_dy"]).sum(), at, key)
        close(tensors[f"{name}_d{key}"], gradient)


def test_scatter_ignores_windows_out_of_range(tensors: Tensors) -> None:
    rows, cells, sums = (tensors[name].copy() for name in ("rows", "cells", "sums"))
    rows[4], rows[1] = tensors["row_updates"][[0, 2]]
    np.testing.assert_array_equal(tensors["by_row"], rows)
    updates = tensors["window_updates"]
    cells[1:3, 3], cells[2:4, 0] = updates[:, 0], updates[:, 1]  # index 2 begins at 3: too far
    np.testing.assert_array_equal(tensors["by_window"], cells)
    adds = tensors["adds"]
    sums[2] += adds[0] + adds[1]
    sums[0] += adds[3]
    close(tensors["added"], sums)


def test_gather_clamps_slices_into_range(tensors: Tensors) -> None:
    cells = tensors["cells"]
    gathered = np.stack([cells[2:4, 4], cells[0:2, 1]], axis=1)
    np.testing.assert_array_equal(tensors["gathered"], gathered)


def test_one_scalar_of_each_row(tensors: Tensors) -> None:
    """Column 2, column 0, a column out of range, and the masked label."""
    params = tensors["params"].copy()
    close(tensors["selected"], np.array([params[0, 2], params[1, 0], np.nan, 0]))
    params[0, 2] -= 1
    params[1, 0] -= 1
    params[2] = np.nan
    close(tensors["updated"], params)


def test_the_logarithm_of_a_softmax(tensors: Tensors) -> None:
    params = tensors["params"]
    close(tensors["log_softmax"], params - np.log(np.exp(params).sum(axis=1, keepdims=True)))


def test_a_circular_buffer_has_the_latest_elements(tensors: Tensors) -> None:
    np.testing.assert_array_equal(tensors["ring"], tensors["params"][[2, 1]])


def test_collectives_over_ipus_and_replicas(
    tensors: Tensors, done: subprocess.CompletedProcess[str]
) -> None:
    data = tensors["data"]
    close(tensors["mean"], np.stack([data.mean(axis=0)] * 2))
    np.testing.assert_array_equal(tensors["max"], data.max(axis=0))
    assert "chunk 1 from 3 on the second IPU: 1\ntiles 1 2 3\n" in done.stdout
    np.testing.assert_array_equal(tensors["replicas"], data[None])
