"""The fused optimizer against Adam in float64 NumPy."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.lif.cpu import native
from ipulse_ops.training.adam import apply_adam
from tests.ops.lif.cpu.kernels import every_kernel

SEED = 31
# Below, at and above a vector and a task's block.
SHAPES = ((1, 1), (3, 5), (2, 8), (7, 33), (130, 127))
SETTINGS: Dict[str, float] = {"beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-4, "weight_decay": 0.3}


class Trained:
    """Variables, what they started from, and the gradients of their updates."""

    def __init__(self, updates: int = 4) -> None:
        random = np.random.RandomState(SEED)
        self.start = [random.randn(*shape).astype(np.float32) for shape in SHAPES]
        self.gradients = [
            [random.randn(*shape).astype(np.float32) for shape in SHAPES] for _ in range(updates)
        ]
        self.rates = [np.float32(0.1 / number) for number in range(1, updates + 1)]
        self.weights = [tf.Variable(w) for w in self.start]
        self.means = [tf.Variable(tf.zeros_like(w)) for w in self.start]
        self.squares = [tf.Variable(tf.zeros_like(w)) for w in self.start]

    def run(self, **settings: Any) -> List[np.ndarray]:
        for number, gradients in enumerate(self.gradients, start=1):
            moments = (self.means, self.squares)
            apply_adam(
                self.weights, *moments, gradients, number, self.rates[number - 1], **settings
            )
        return [v.numpy() for v in (*self.weights, *self.means, *self.squares)]


def adam_in_float64(
    start: np.ndarray, gradients: List[np.ndarray], rates: List[Any]
) -> List[np.ndarray]:
    """Weights and moments by Adam with decoupled decay, in float64."""
    s = SETTINGS
    w, m, v = start.astype(np.float64), np.zeros(start.shape), np.zeros(start.shape)
    for t, (gradient, rate) in enumerate(zip(gradients, rates), start=1):
        g, rate = gradient.astype(np.float64), float(rate)
        m = s["beta_1"] * m + (1 - s["beta_1"]) * g
        v = s["beta_2"] * v + (1 - s["beta_2"]) * g**2
        corrected = rate * np.sqrt(1 - s["beta_2"] ** t) / (1 - s["beta_1"] ** t)
        w = w - rate * s["weight_decay"] * w - corrected * m / (np.sqrt(v) + s["epsilon"])
    return [w, m, v]


@pytest.mark.old_python
@every_kernel()
def test_follows_the_formula(arch: int) -> None:
    trained = Trained()
    actual = trained.run(arch=arch, **SETTINGS)
    for i, start in enumerate(trained.start):
        expected = adam_in_float64(start, [each[i] for each in trained.gradients], trained.rates)
        for part, values in enumerate(expected):
            got = actual[part * len(SHAPES) + i]
            np.testing.assert_allclose(got, values, rtol=2e-6, atol=2e-6, err_msg=f"seed {SEED}")


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_kernels_and_threads_agree_to_the_bit(threads: int) -> None:
    first = Trained().run(arch=0, threads=1, **SETTINGS)
    other = Trained().run(arch=native.supported_arch(), threads=threads, **SETTINGS)
    for one, same in zip(first, other):
        np.testing.assert_array_equal(one, same)


def test_late_updates_are_corrected_in_double() -> None:
    """beta^t of a float32 beta would be off by percents by now."""
    weight, mean, square = (tf.Variable([[x]]) for x in (1.0, 0.5, 0.25))
    apply_adam([weight], [mean], [square], [[[0.5]]], 2000, 0.1, epsilon=1e-7)
    expected = 1 - 0.1 * np.sqrt(1 - 0.999**2000)
    np.testing.assert_allclose(weight.numpy(), [[expected]], rtol=1e-6)


def test_an_earlier_read_of_a_weight_keeps_the_old_value() -> None:
    trained = Trained(updates=1)
    before = [tf.identity(weight) for weight in trained.weights]
    views = [weight.read_value() for weight in trained.weights]
    trained.run()
    for start, copy, view, weight in zip(trained.start, before, views, trained.weights):
        np.testing.assert_array_equal(copy, start)
        np.testing.assert_array_equal(view, start)
        assert np.all(weight.numpy() != start)


@pytest.mark.old_python
def test_in_a_function_it_runs_in_the_programs_order() -> None:
    trained = Trained(updates=1)
    arguments = (trained.weights, trained.means, trained.squares, trained.gradients[0])

    @tf.function
    def step(update: Any, rate: Any) -> Any:
        before = [tf.identity(weight) for weight in trained.weights]
        apply_adam(*arguments, update, rate)
        return before, [tf.identity(weight) for weight in trained.weights]

    before, after = step(tf.constant(1), tf.constant(0.1))
    expected = Trained(updates=1).run()
    for start, first, second, same in zip(trained.start, before, after, expected):
        np.testing.assert_array_equal(first, start)
        np.testing.assert_array_equal(second, same)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"update": 0}, "the first update is number 1"),
        ({"beta_1": 1.0}, "beta_1 and beta_2 must be at least 0 and below 1"),
        ({"epsilon": 0.0}, "epsilon must be above 0"),
        ({"weight_decay": -1.0}, "weight_decay must be at least 0"),
        ({"gradients": [np.zeros((2, 4), np.float32)]}, r"weights\[0\].* of shape \[2,4\]"),
        ({"update": [1, 2]}, "update and rate must be scalars"),
    ],
)
def test_what_does_not_fit_is_named(change: Dict[str, Any], message: str) -> None:
    variables = [[tf.Variable(np.ones((2, 3), np.float32))] for _ in range(3)]
    gradients = [np.ones((2, 3), np.float32)]
    arguments = {"gradients": gradients, "update": 1, "rate": 0.1, **change}
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        apply_adam(*variables, **arguments)
    assert all(np.all(variable.numpy() == 1) for (variable,) in variables)
