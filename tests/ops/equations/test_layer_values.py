"""Losses and penalties that read layers: gradients by automatic differentiation, and with XLA."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.equations.axes import CLASSES, TIME, neurons_axis
from ipulse_core.equations.loss import NAMES, LayerValue, LossEquations, read_loss
from ipulse_ops.equations import loss_op
from ipulse_ops.equations.loss import LossEvaluator
from ipulse_ops.equations.loss_op import loss_with_equations
from ipulse_ops.training.spike_totals import spike_totals, spike_trains
from tests.equations import Described
from tests.ops.equations.autodiff import value_of

STEPS, BATCH, CLASS_COUNT = 5, 3, 4
SIZES = [7, 6, CLASS_COUNT, CLASS_COUNT]  # of three hidden layers and the readout
NAMES_OF_LAYERS = ["layers[0]", "features", "layers[2]", "readout"]


def values() -> Dict[str, LayerValue]:
    found = {}
    for index, (name, size) in enumerate(zip(NAMES_OF_LAYERS, SIZES)):
        axis = CLASSES if size == CLASS_COUNT else neurons_axis(size)
        for what in ("membrane", "spikes"):
            key, is_readout = f"layers[{index}].{what}", index == 3
            axes = frozenset({TIME, axis})
            found[f"{name}.{what}"] = LayerValue(index, what, axes, key, is_readout)
    return found


def equations_of(result: str, text: str, named: Sequence[Sequence[str]] = ()) -> LossEquations:
    listed = [Described(name=name, value=value) for name, value in named]
    more = {"prediction": None} if result == "loss" else {}
    described = Described(name="own", parameters=[], values=listed, **{result: text}, **more)
    return read_loss(described, values())


CASES: List[Any] = [
    ("penalty", "mean(mean_over_time(layers[0].membrane * layers[0].spikes))"),
    ("penalty", "logsumexp(last(features.membrane)) + largest(max_over_time(layers[0].membrane))"),
    ("penalty", "sum(sum_over_time(square(features.membrane - mean(layers[0].membrane))) / 9)"),
    ("penalty", "mean_over_time(sum(softmax(features.membrane) * log_softmax(features.spikes)))"),
    ("penalty", "last(mean(layers[2].spikes * label)) + mean(membrane_mean * label)"),
    ("penalty", "mean(square(mean_over_time(layers[0].spikes) - mean_over_time(t) / steps))"),
    ("loss", "mean_over_time(mean(square(readout.spikes + layers[2].membrane - step_target)))"),
    ("loss", "-sum(label * log_softmax(last(membrane))) + square(mean(last(features.spikes)))"),
]


def right_of(equations: LossEquations, rng: Any) -> np.ndarray:
    if "step_target" in equations.reads:
        return np.asarray(rng.normal(size=(BATCH, STEPS, CLASS_COUNT)))
    return np.asarray(rng.integers(0, CLASS_COUNT, BATCH))


def read_by(equations: LossEquations, rng: Any) -> Dict[str, np.ndarray]:
    found = {}
    if "membrane" in equations.reads:
        found["membrane"] = rng.normal(size=(STEPS, BATCH, CLASS_COUNT))
    for _, value in equations.layers:
        found[value.key] = rng.normal(size=(STEPS, BATCH, SIZES[value.layer]))
    return found


def by_autodiff(equations: LossEquations, read: Dict[str, Any], right: np.ndarray) -> Any:
    names: Dict[str, Any] = dict.fromkeys(NAMES, tf.constant(np.nan, tf.float64))
    names["t"] = tf.reshape(tf.range(STEPS, dtype=tf.float64), [-1, 1, 1])
    names["steps"] = tf.constant(float(STEPS), tf.float64)
    if "step_target" in equations.reads:
        names["step_target"] = tf.constant(right.transpose(1, 0, 2))
    else:
        names["label"] = tf.one_hot(right, CLASS_COUNT, dtype=tf.float64)[None]
    names.update((name, read[value.key]) for name, value in equations.layers)
    names["membrane"] = read.get("membrane")
    for name, tree in equations.values:
        names[name] = value_of(tree, names)
    found = value_of(equations.loss, names)
    return tf.reshape(tf.broadcast_to(found, [1, BATCH, 1]), [BATCH])


@pytest.mark.parametrize(("result", "text"), CASES)
def test_gradients_are_those_of_automatic_differentiation(result: str, text: str) -> None:
    named = [("membrane_mean", "mean_over_time(membrane)")] if "membrane_mean" in text else []
    equations, rng = equations_of(result, text, named), np.random.default_rng(5)
    right, read = right_of(equations, rng), read_by(equations, rng)
    tensors = {name: tf.constant(array) for name, array in read.items()}
    with tf.GradientTape() as tape:
        tape.watch(list(tensors.values()))
        wanted = by_autodiff(equations, tensors, right)
    expected = tape.gradient(wanted, tensors)
    evaluator = LossEvaluator(equations, CLASS_COUNT, STEPS)
    found = evaluator(read, right)
    np.testing.assert_allclose(found.loss, wanted, rtol=1e-12)
    for name in read:
        assert np.abs(expected[name]).max() > 1e-4
        np.testing.assert_allclose(found.gradients[name], expected[name], rtol=1e-10, atol=1e-14)

    single = {name: tf.constant(array, tf.float32) for name, array in read.items()}
    kind = tf.float32 if right.ndim == 3 else tf.int32
    compared = tf.constant(right, kind)

    def run(*arrays: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(arrays)
            loss, _ = loss_with_equations(evaluator, dict(zip(single, arrays)), compared)
        return loss, tape.gradient(loss, arrays)

    for loss, grads in (
        run(*single.values()),
        tf.function(run, jit_compile=True)(*single.values()),
    ):
        np.testing.assert_allclose(loss, wanted, rtol=1e-4, atol=1e-5)
        for name, grad in zip(single, grads):
            np.testing.assert_allclose(grad, expected[name], rtol=1e-4, atol=1e-5)


def test_few_samples_at_a_time_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    for result, text in (CASES[0], CASES[6]):
        equations, rng = equations_of(result, text), np.random.default_rng(6)
        right, read = right_of(equations, rng), read_by(equations, rng)
        evaluator = LossEvaluator(equations, CLASS_COUNT, STEPS)
        single = {name: tf.constant(array, tf.float32) for name, array in read.items()}
        compared = tf.constant(right, tf.float32 if right.ndim == 3 else tf.int32)
        runs = []
        for most in (1 << 22, 1):
            monkeypatch.setattr(loss_op, "_MOST_VALUES", most)
            with tf.GradientTape() as tape:
                tape.watch(list(single.values()))
                loss, predicted = loss_with_equations(evaluator, single, compared)
            grads = tape.gradient(loss, single)
            runs.append([np.asarray(each).tobytes() for each in (loss, predicted, *grads.values())])
        assert runs[0] == runs[1]


@pytest.mark.old_python
def test_trains_have_a_one_for_each_spike_and_a_gradient_for_each_filled_slot() -> None:
    ids = tf.constant([[[3.0, 1.0, 0.0]], [[2.0, 0.0, 1.0]]])
    counts = tf.constant([[[1.0, 2.0]], [[2.0, 2.0]]])  # spikes and filled slots
    rng = np.random.default_rng(1)
    weights = tf.constant(rng.normal(size=(2, 1, 4)), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(ids)
        trains = spike_trains(ids, counts, 4)
        total = tf.reduce_sum(weights * trains)
    np.testing.assert_array_equal(trains[:, 0], [[0, 0, 0, 1], [1, 0, 1, 0]])
    expected = [
        [[weights[0, 0, 3], weights[0, 0, 1], 0]],
        [[weights[1, 0, 2], weights[1, 0, 0], 0]],
    ]
    np.testing.assert_array_equal(tape.gradient(total, ids), expected)
    np.testing.assert_array_equal(tf.reduce_sum(trains, 0), spike_totals(ids, counts, 4))
