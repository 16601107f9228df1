"""Truncated gradients of neurons of a package: those of an adjoint of windows in float64."""

from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.neuron_package.sequences import with_own_spikes
from tests.ops.neuron_package.layers import (
    BATCH,
    NEURONS,
    STEPS,
    VALUES,
    Reference,
    batch,
    example,
    package_layer,
)

KEPT, THRESHOLD, SLOPE = 0.75, 0.5, 5.0  # of the example


def run(truncate: Any, **options: Any) -> Tuple[np.ndarray, List[Any], Any]:
    """Weights of the loss by neuron, and the gradients of the layer's weights."""
    layer = package_layer(trained=(), truncate=truncate, **options)
    by_spikes = np.random.default_rng(7).normal(size=(STEPS, BATCH, NEURONS))
    with tf.GradientTape() as tape:
        found = layer.run(*batch(), True)
        at = found.ids.numpy().astype(np.int64)
        weights = np.take_along_axis(by_spikes, at, axis=-1).astype(np.float32)
        loss = tf.reduce_sum(weights * found.ids)
    return by_spikes, tape.gradient(loss, list(layer.kernels)), layer


def windows_adjoint(
    currents: np.ndarray, by_spikes: np.ndarray, truncate: int, recurrent: np.ndarray
) -> np.ndarray:
    """The gradient of the currents by the equations of the example, cut between windows."""
    parameters = {name: np.full(NEURONS, value) for name, value in VALUES.items()}
    spikes, states = example().forward(currents, parameters)
    by_currents = np.zeros_like(currents)
    by_d, by_u, received = (np.zeros_like(currents[0]) for _ in range(3))
    for t in reversed(range(len(currents))):
        if (t + 1) % truncate == 0:
            by_d, by_u, received = (np.zeros_like(currents[0]) for _ in range(3))
        d, u = states[:, t]
        phi = 1 / (1 + SLOPE * np.abs(u - THRESHOLD)) ** 2
        by_u = KEPT * (1 - spikes[t]) * by_u + phi * (by_spikes[t] + received)
        coupled = parameters["coupling"] * by_d
        spread = parameters["decay"] * by_d
        step = coupled[:, 1:] - coupled[:, :-1]
        spread[:, :-1] += step
        spread[:, 1:] -= step
        by_d = spread + by_u * parameters["gain"] / (1 + np.abs(d)) ** 2
        by_currents[t] = by_d
        received = by_d @ recurrent.T
    return by_currents


@pytest.mark.parametrize("recurrent", [False, True])
@pytest.mark.parametrize("truncate", [1, 5, STEPS])
def test_gradients_are_those_of_windows(truncate: int, recurrent: bool) -> None:
    by_spikes, gradients, layer = run(truncate, recurrent=recurrent)
    reference = Reference(layer)
    weights, current = np.zeros((NEURONS, NEURONS)), reference.current
    if recurrent:
        weights = layer.kernels[1].numpy().astype(np.float64)
        for _ in range(STEPS):
            current = with_own_spikes(reference.current, reference.spikes_of(current), weights)
    by_current = windows_adjoint(current, by_spikes, truncate, weights)
    expected = [reference.by_kernel(by_current)]
    if recurrent:
        spikes = reference.spikes_of(current)
        expected.append(np.einsum("tbi,tbo->io", spikes[:-1], by_current[1:]))
    assert len(gradients) == len(expected)
    for one, other in zip(gradients, expected):
        assert np.any(other)
        limit = 1e-5 * np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=limit)


def test_a_window_of_all_steps_changes_nothing_and_shorter_ones_do() -> None:
    _, (whole,), _ = run(None)
    _, (window,), _ = run(STEPS)
    _, (short,), _ = run(4)
    np.testing.assert_array_equal(whole, window)
    assert np.abs(short.numpy() - whole.numpy()).max() > 0.01 * np.abs(whole).max()


def test_parameters_have_no_gradient_of_windows() -> None:
    with pytest.raises(ValueError, match="train none"):
        package_layer(trained=("decay",), truncate=4)
