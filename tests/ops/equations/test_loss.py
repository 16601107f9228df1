"""Losses with equations: gradients, and a comparison with the losses that IPUlse has."""

from __future__ import annotations

from random import Random
from typing import Any, Callable, Dict

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.equations.loss import NAMES, LossEquations
from ipulse_core.spec.training_equations import LOSSES
from ipulse_ops.equations.loss import LossEvaluator
from ipulse_ops.equations.loss_op import loss_with_equations
from ipulse_ops.training import losses, regression, temporal_losses
from tests.losses import cross_entropy, loss_of, margin, random_loss, squared_outputs
from tests.ops.equations.autodiff import value_of

STEPS, BATCH, CLASSES = 5, 3, 4


def right_of(name: str, rng: Any) -> np.ndarray:
    """Return labels or targets as LossEvaluator describes them."""
    if name == "label":
        return np.asarray(rng.integers(0, CLASSES, BATCH))
    shape = (BATCH, CLASSES) if name == "target" else (BATCH, STEPS, CLASSES)
    return np.asarray(rng.normal(size=shape))


def by_autodiff(equations: LossEquations, membrane: Any, right: np.ndarray, name: str) -> Any:
    """The loss, by TensorFlow's operations in float64."""
    wide = {
        "label": lambda: tf.one_hot(right, CLASSES, dtype=tf.float64)[None],
        "target": lambda: right[None],
        "step_target": lambda: right.transpose(1, 0, 2),
    }[name]()
    names = dict.fromkeys(NAMES, tf.constant(np.nan, tf.float64))
    names.update(membrane=membrane, classes=tf.constant(float(CLASSES), tf.float64))
    names["t"] = tf.reshape(tf.range(STEPS, dtype=tf.float64), [-1, 1, 1])
    names.update({"steps": tf.constant(float(STEPS), tf.float64), name: tf.constant(wide)})
    for value, tree in equations.values:
        names[value] = value_of(tree, names)
    found = value_of(equations.loss, names)
    return tf.reshape(tf.broadcast_to(found, [1, BATCH, 1]), [BATCH])


def check(seed: int) -> None:
    random, rng = Random(seed), np.random.default_rng(seed)
    name = random.choice(["label", "target", "step_target"])
    equations, right = random_loss(random, name), right_of(name, rng)
    membrane = tf.constant(rng.normal(size=(STEPS, BATCH, CLASSES)))
    with tf.GradientTape() as tape:
        tape.watch(membrane)
        wanted = by_autodiff(equations, membrane, right, name)
        total = tf.reduce_sum(wanted)
    found = LossEvaluator(equations, CLASSES, STEPS)({"membrane": membrane.numpy()}, right)
    near: Dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12, "err_msg": f"seed {seed}"}
    np.testing.assert_allclose(found.loss, wanted, **near)
    expected = tape.gradient(total, membrane)
    np.testing.assert_allclose(found.gradients["membrane"], expected, **near)


def test_random_losses_and_their_gradients() -> None:
    for seed in range(12):
        check(seed)


@pytest.mark.verify
def test_many_random_losses_and_their_gradients() -> None:
    for seed in range(100, 1100):
        check(seed)


KNOWN: Dict[str, Any] = {
    "mean": (cross_entropy(), losses.mean_membrane_cross_entropy, losses.predicted_by_mean),
    "max": (
        {**cross_entropy("max_over_time(membrane)"), "prediction": "score"},
        losses.max_membrane_cross_entropy,
        losses.predicted_by_max,
    ),
    "last": (
        {**cross_entropy("last(membrane)"), "prediction": "score"},
        temporal_losses.last_membrane_cross_entropy,
        temporal_losses.predicted_by_last,
    ),
    "steps": (
        {
            "loss": LOSSES["step_cross_entropy"],
            "prediction": "sum_over_time(membrane == largest(membrane))",
        },
        losses.step_cross_entropy,
        losses.predicted_by_steps,
    ),
    "last_mse": (
        squared_outputs(),
        lambda membrane, right: regression.squared_error(regression.last_outputs(membrane), right),
        regression.mean_outputs,
    ),
    "step_mse": (
        {"loss": LOSSES["step_mse"]},
        lambda membrane, right: regression.squared_error(
            regression.outputs_by_step(membrane), right
        ),
        regression.outputs_by_step,
    ),
}


@pytest.mark.old_python
@pytest.mark.parametrize("name", KNOWN)
def test_known_losses_equal_those_that_exist(name: str) -> None:
    document, known, predicted_by = KNOWN[name]
    rng = np.random.default_rng(7)
    steps, batch, classes = 30, 16, 10
    evaluator = LossEvaluator(loss_of(document), classes, steps)
    membrane = tf.constant(rng.normal(size=(steps, batch, classes)), tf.float32)
    shape = (batch, steps, classes) if name == "step_mse" else (batch, classes)
    right = tf.constant(rng.normal(size=shape), tf.float32)
    if not name.endswith("mse"):
        right = tf.constant(rng.integers(0, classes, batch), tf.int32)
    weights = tf.constant(rng.normal(size=batch), tf.float32)

    def run(loss: Callable[[Any], Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(membrane)
            values = loss(membrane)
            total = tf.reduce_sum(values * weights)
        return values, tape.gradient(total, membrane)

    made, by_membrane = run(
        lambda membrane: loss_with_equations(evaluator, {"membrane": membrane}, right)[0]
    )
    wanted, expected = run(lambda membrane: known(membrane, right))
    np.testing.assert_allclose(made, wanted, rtol=2e-6)
    np.testing.assert_allclose(by_membrane, expected, rtol=2e-5, atol=1e-8)
    _, predicted = loss_with_equations(evaluator, {"membrane": membrane}, right)
    np.testing.assert_allclose(predicted, predicted_by(membrane), rtol=1e-5, atol=1e-6)


def test_a_margin_loss() -> None:
    rng = np.random.default_rng(8)
    membrane, labels = rng.normal(size=(STEPS, BATCH, CLASSES)), np.array([0, 3, 3])
    found = LossEvaluator(loss_of(margin(0.5)), CLASSES, STEPS)({"membrane": membrane}, labels)
    score = membrane.mean(axis=0)
    for sample, label in enumerate(labels):
        others = np.delete(score[sample], label).max()
        wanted = max(0.0, 0.5 + others - score[sample, label]) ** 2
        np.testing.assert_allclose(found.loss[sample], wanted, rtol=1e-12)
    assert (np.argmax(found.prediction, axis=1) == np.argmax(score, axis=1)).all()


def test_large_scores_do_not_overflow() -> None:
    membrane = np.full((2, 1, 3), 1e4)
    membrane[:, 0, 1] = -1e4
    found = LossEvaluator(loss_of(cross_entropy()), 3, 2)({"membrane": membrane}, np.array([1]))
    np.testing.assert_allclose(found.loss, [2e4 + np.log(2)], rtol=1e-12)
    np.testing.assert_allclose(found.gradients["membrane"].sum(axis=0), [[0.5, -1, 0.5]])


def test_a_sample_that_does_not_count_has_no_gradient() -> None:
    """Padding samples of a device's last batch may have an infinite loss."""
    document = {"loss": "sum(label * log(last(membrane)))"}
    membrane = tf.constant([[[1.0, 2.0], [0.0, 0.0]]])
    with tf.GradientTape() as tape:
        tape.watch(membrane)
        evaluator = LossEvaluator(loss_of(document), 2, 1)
        values, _ = loss_with_equations(evaluator, {"membrane": membrane}, tf.constant([1, 0]))
        total = tf.reduce_sum(tf.where([True, False], values, 0.0))
    assert not np.isfinite(values[1])
    np.testing.assert_allclose(tape.gradient(total, membrane), [[[0, 0.5], [0, 0]]])


@pytest.mark.old_python
@pytest.mark.sample(0)
@pytest.mark.parametrize("right", ["label", "target", "step_target"])
def test_a_program_of_xla_computes_the_same(right: str) -> None:
    """In float32, where the host computes in float64; half of the samples do not count."""
    known = [random_loss(Random(seed), right) for seed in range(2)]
    each = "last(step_target)" if right == "step_target" else right
    known.append(loss_of({"loss": f"sum(square(last(membrane) - {each}))"}))
    for seed, equations in enumerate(known):
        rng = np.random.default_rng(seed)
        evaluator = LossEvaluator(equations, CLASSES, STEPS)
        membrane = tf.constant(rng.normal(size=(STEPS, 4, CLASSES)), tf.float32)
        shape = {"label": (4,), "target": (4, CLASSES), "step_target": (4, STEPS, CLASSES)}[right]
        compared = tf.constant(rng.normal(size=shape), tf.float32)
        if right == "label":
            compared = tf.constant(rng.integers(0, CLASSES, 4), tf.int32)

        def run(membrane: Any, compared: Any, evaluator: LossEvaluator = evaluator) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(membrane)
                losses, predicted = loss_with_equations(evaluator, {"membrane": membrane}, compared)
                total = tf.reduce_sum(losses * [1.0, 0.0, 0.5, 0.0])
            return losses, predicted, tape.gradient(total, membrane)

        found = tf.function(run, jit_compile=True)(membrane, compared)
        for ours, wanted in zip(found, run(membrane, compared)):
            np.testing.assert_allclose(ours, wanted, rtol=2e-5, atol=2e-5, err_msg=f"seed {seed}")
