"""Standardised weights: the reference's adjoint, and TensorFlow against the reference."""

from __future__ import annotations

from typing import Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras import LIF, LeakyReadout, MultiLIF
from ipulse_ops.reference.spikes import dense_to_sparse
from ipulse_ops.reference.standardisation import standardise, standardise_gradient
from ipulse_ops.training.standardised_weights import deviation_of, standardised


def case(seed: int = 0, shape: Tuple[int, int] = (9, 5)) -> Tuple[np.ndarray, ...]:
    rng = np.random.Generator(np.random.PCG64(seed))
    weights = rng.normal(0.3, 1.5, shape).astype(np.float32)
    std = rng.uniform(-1, 2, shape[1]).astype(np.float32)
    return weights, std, rng.normal(size=shape).astype(np.float32)


def test_columns_have_their_mean_and_deviation() -> None:
    weights, std, _ = case()
    found = standardise(weights, std)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(found.std(axis=0), np.abs(std))
    np.testing.assert_allclose(standardise(7 * weights + 2, std), found, rtol=1e-5, atol=1e-6)


def test_the_gradient_is_the_adjoint_of_the_tangent() -> None:
    """The tangent is the derivative by complex steps, which cancels nothing."""
    weights, std, grad = (array.astype(np.float64) for array in case(1))
    along, of_std, _ = (array.astype(np.float64) for array in case(2))

    def moved(step: complex) -> np.ndarray:
        matrix = weights + step * along
        centred = matrix - matrix.sum(axis=0) / len(matrix)
        variance = (centred * centred).sum(axis=0) / len(matrix)
        product: np.ndarray = (std + step * of_std) * centred / variance**0.5
        return product

    tangent = moved(1e-30j).imag / 1e-30
    by_weights, by_std = standardise_gradient(weights, std, grad)
    expected = np.sum(tangent * grad)
    found = np.sum(by_weights * along) + np.sum(by_std * of_std)
    assert abs(found - expected) < 1e-12 * np.abs(tangent * grad).sum()


@pytest.mark.old_python
@pytest.mark.parametrize("shape", [(9, 5), (700, 3), (40, 1), (1, 4)])
def test_tensorflow_equals_the_reference(shape: Tuple[int, int]) -> None:
    weights, std, grad = case(3, shape)
    matrix, deviation = tf.constant(weights), tf.constant(std)
    with tf.GradientTape() as tape:
        tape.watch([matrix, deviation])
        found = standardised(matrix, deviation)
        loss = tf.reduce_sum(found * grad)
    np.testing.assert_allclose(found, standardise(weights, std), rtol=1e-4, atol=1e-5)
    expected = standardise_gradient(weights, std, grad)
    for actual, wanted in zip(tape.gradient(loss, [matrix, deviation]), expected):
        np.testing.assert_allclose(actual, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.old_python
def test_a_graph_that_computes_nothing_else_rounds_alike() -> None:
    """TensorFlow's graph optimiser rewrites 1 / sqrt(x) where nothing else reads the root."""
    weights, std, _ = case(5, (64, 50))
    matrix = tf.Variable(weights)
    alone = tf.function(lambda: standardised(matrix, std) + 0.0)
    np.testing.assert_array_equal(alone(), standardised(matrix, std))


def test_equal_weights_are_silent_and_learn_nothing() -> None:
    weights = tf.fill([6, 2], 0.7)
    with tf.GradientTape() as tape:
        tape.watch(weights)
        found = standardised(weights, tf.ones([2]))
        loss = tf.reduce_sum(found**2 + found)
    np.testing.assert_array_equal(found, np.zeros((6, 2)))
    np.testing.assert_array_equal(tape.gradient(loss, weights), np.zeros((6, 2)))


def test_the_weights_in_use_stay_if_they_are_standardised_again() -> None:
    weights, std, _ = case(4)
    once = standardised(weights, std)
    np.testing.assert_allclose(standardised(once, deviation_of(once)), once, rtol=1e-5, atol=1e-6)


class TestLayer:
    def net(self) -> MultiLIF:
        made = MultiLIF(
            inputs=10,
            layers=[LIF(neurons=12, decay=0.75)],
            readout=LeakyReadout(neurons=3, decay=0.75),
            standardised=[True, False],
        )
        rng = np.random.Generator(np.random.PCG64(2))
        made.set_kernels([rng.normal(0.2, 0.6, kernel.shape) for kernel in made.kernels])
        return made

    def spikes(self) -> Tuple[np.ndarray, np.ndarray]:
        rng = np.random.Generator(np.random.PCG64(0))
        return dense_to_sparse(rng.random((15, 4, 10)) < 0.4)

    def test_it_runs_with_standardised_weights(self) -> None:
        made = self.net()
        kernels = [np.asarray(kernel) for kernel in made.kernels]
        plain = MultiLIF(inputs=10, layers=made.network.layers, readout=made.network.readout)
        plain.set_kernels([standardised(kernels[0], kernels[0].std(axis=0)), kernels[1]])
        out, expected = made(*self.spikes()), plain(*self.spikes())
        np.testing.assert_allclose(out.membrane, expected.membrane, rtol=1e-4, atol=1e-5)

    def test_the_deviation_is_trained(self) -> None:
        made = self.net()
        assert len(made.trainable_weights) == 3
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(made(*self.spikes()).membrane ** 2)
        gradients = tape.gradient(loss, made.trainable_weights)
        assert all(np.any(gradient) for gradient in gradients)

    def test_a_copy_from_its_configuration_computes_the_same(self) -> None:
        made = self.net()
        copy = MultiLIF.from_config(made.get_config())
        copy.set_weights(made.get_weights())
        one, two = made(*self.spikes()), copy(*self.spikes())
        np.testing.assert_array_equal(one.membrane, two.membrane)

    def test_flags_for_other_layers_are_refused(self) -> None:
        with pytest.raises(ValueError, match="standardised"):
            MultiLIF(10, [LIF(neurons=2)], LeakyReadout(neurons=2), standardised=[True])
