"""Trained constants, memory and storage of MultiLIF."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.spec.start_weights import CONSTANTS
from ipulse_ops.keras import LIF, LeakyReadout, MultiLIF
from ipulse_ops.reference.spikes import dense_to_sparse

LAYERS = (
    LIF(neurons=12, decay=0.75, second_threshold=0.5, synapse_decay=0.5, recurrent=True),
    LIF(neurons=8, decay=0.75, bias=True, adaptation_strength=0.25, adaptation_decay=0.75),
)


def net(**options: Any) -> MultiLIF:
    made = MultiLIF(
        inputs=10, layers=LAYERS, readout=LeakyReadout(neurons=3, decay=0.75), **options
    )
    rng = np.random.Generator(np.random.PCG64(2))
    made.set_kernels([rng.normal(0.1, 0.3, kernel.shape) for kernel in made.kernels])
    return made


def spikes(seed: int = 0) -> Tuple[np.ndarray, np.ndarray]:
    rng = np.random.Generator(np.random.PCG64(seed))
    return dense_to_sparse(rng.random((15, 4, 10)) < 0.4)


def gradients(made: MultiLIF, *inputs: Any) -> Any:
    with tf.GradientTape() as tape:
        out = made(*inputs)
        loss = tf.reduce_sum(out.membrane**2)
    return out, tape.gradient(loss, made.trainable_weights)


class TestConstants:
    def test_each_is_a_variable_per_layer(self) -> None:
        made = net(trainable=["threshold", "decay", "synapse_decay"])
        assert [sorted(of_layer) for of_layer in made.trained_constants] == [
            ["decay", "synapse_decay", "threshold"],
            ["decay", "threshold"],
            ["decay"],
        ]
        per_layer = net(trainable=[["decay"], [], []])
        assert [sorted(of_layer) for of_layer in per_layer.trained_constants] == [["decay"], [], []]
        _, grads = gradients(made, *spikes())
        assert all(np.abs(grad).max() > 0 for grad in grads)

    def test_a_missing_one_is_named(self) -> None:
        with pytest.raises(ValueError, match=r"trainable\[1\]: that layer has no synapse_decay"):
            net(trainable=[[], ["synapse_decay"], []])
        with pytest.raises(ValueError, match=r"for each of 3 layers .*; got 2"):
            net(trainable=[["decay"], []])

    def test_bounds_hold_in_use_and_after_a_step(self) -> None:
        made = net(trainable=["decay", "threshold"])
        first = made.trained_constants[0]
        first["decay"].assign(np.full(12, 1.5))
        first["threshold"].assign(np.full(12, -1.0))
        used = made.constants_in_use()[0]
        assert 0.99 < np.max(used["decay"]) < 1
        np.testing.assert_array_equal(used["threshold"], np.full(12, 0.5, np.float32))
        out, grads = gradients(made, *spikes())  # a gradient all the same, to come back with
        assert np.isfinite(out.membrane).all()
        assert np.abs(grads[-4]).max() > 0
        optimizer = tf.keras.optimizers.SGD(1e-9)
        optimizer.apply_gradients(zip(grads, made.trainable_weights))
        assert np.asarray(first["decay"]).max() < 1
        assert np.asarray(first["threshold"]).min() == 0.5

    @pytest.mark.old_python
    def test_a_schedule_moves_the_gate_without_tracing_again(self) -> None:
        made, traces = net(), []

        @tf.function
        def filled() -> Any:
            traces.append(1)
            return tf.reduce_sum(made(*spikes()).spike_counts[0][..., 1])

        wide = float(filled())
        made.second_thresholds[0].assign(np.full(12, 0.9))
        narrow = float(filled())
        made.second_thresholds[0].assign(np.full(12, 9.0))  # above the threshold: at it
        closed = float(filled())
        assert wide > narrow > closed
        assert len(traces) == 1
        assert closed == float(tf.reduce_sum(made(*spikes()).spike_counts[0][..., 0]))
        assert made.second_thresholds[1:] == [None, None]


class TestStorage:
    def test_recomputing_gives_the_same_bits(self) -> None:
        kept, again = (gradients(net(memory=m), *spikes()) for m in ("slots", "recompute"))
        for one, other in zip(kept[1], again[1]):
            np.testing.assert_array_equal(one, other)

    def test_bfloat16_weights_are_the_rounded_ones(self) -> None:
        short, rounded = net(weights_dtype="bfloat16"), net()
        rounded.set_kernels(
            [
                tf.cast(tf.cast(k, tf.bfloat16), tf.float32).numpy() if len(k.shape) == 2 else k
                for k in short.kernels
            ]
        )
        (out, grads), (baseline, expected) = (
            gradients(made, *spikes()) for made in (short, rounded)
        )
        np.testing.assert_array_equal(out.membrane, baseline.membrane)
        for one, other in zip(grads, expected):
            np.testing.assert_array_equal(one, other)
        assert not np.array_equal(net()(*spikes()).membrane, baseline.membrane)

    @pytest.mark.parametrize("dtype", [np.uint16, np.int64, np.float32])
    def test_ids_of_other_types(self, dtype: Any) -> None:
        ids, counts = spikes()
        out = net()(ids.astype(dtype), counts.astype(np.int64))
        np.testing.assert_array_equal(out.membrane, net()(ids, counts).membrane)


class TestCall:
    def test_membranes_when_asked_for(self) -> None:
        made = net(return_membranes=True)
        assert net()(*spikes()).membranes == []
        with tf.GradientTape() as tape:
            out = made(*spikes())
            loss = tf.reduce_sum(out.membranes[0] ** 2)
        assert [m.shape.as_list() for m in out.membranes] == [[15, 4, 12], [15, 4, 8]]
        grads = tape.gradient(loss, made.trainable_weights)
        assert np.abs(grads[0]).max() > 0  # the first layer's own, and no later one's
        assert np.abs(grads[2]).max() == 0

    def test_batch_first_pairs_and_dense_spikes(self) -> None:
        ids, counts = spikes()
        made, baseline = net(time_major=False), net()(ids, counts)
        batch_first = ids.transpose(1, 0, 2), counts.T
        dense = np.zeros((4, 15, 10), np.float32)
        for t, b in np.ndindex(15, 4):
            dense[b, t, ids[t, b, : counts[t, b]]] = 1
        for inputs in (batch_first, (batch_first,), (dense,)):
            out = made(*inputs)
            np.testing.assert_array_equal(
                out.membrane, baseline.membrane.numpy().transpose(1, 0, 2)
            )
            np.testing.assert_array_equal(out.dropped[0], baseline.dropped[0].numpy().T)

    @pytest.mark.parametrize("backend", ["cpu", "numpy"])
    def test_a_gradient_reaches_the_input(self, backend: str) -> None:
        ids, counts = spikes()
        places = tf.constant(ids, tf.float32)
        with tf.GradientTape() as tape:
            tape.watch(places)
            loss = tf.reduce_sum(net(backend=backend)(places, counts).membrane ** 2)
        grad = tape.gradient(loss, places).numpy()
        behind = np.arange(ids.shape[2]) >= counts[..., None]
        assert not grad[behind].any()
        assert np.count_nonzero(grad) > 0.5 * counts.sum()

    def test_a_seed_per_call(self) -> None:
        fields: Dict[str, Any] = {"neurons": 40, "capacity": 3, "policy": "cyclic"}
        made = MultiLIF(inputs=10, layers=[LIF(**fields)], readout=LeakyReadout(neurons=2), seed=5)
        traced = tf.function(lambda seed: made(*spikes(), seed=seed).spike_ids[0])
        first, second = (traced(tf.constant(seed, tf.int64)).numpy() for seed in (5, 6))
        np.testing.assert_array_equal(first, made(*spikes()).spike_ids[0])
        assert not np.array_equal(first, second)


@pytest.mark.old_python
def test_kernels_and_reference_agree_on_every_gradient() -> None:
    """Weights, every trained constant and the input's spikes, where no spike differs."""
    ids, counts = spikes()
    results = []
    for backend in ("cpu", "numpy"):
        made = net(backend=backend, trainable=CONSTANTS)
        places = tf.constant(ids, tf.float32)
        with tf.GradientTape() as tape:
            tape.watch(places)
            out = made(places, counts)
            loss = tf.reduce_sum(out.membrane**2)
        results.append((out, tape.gradient(loss, [*made.trainable_weights, places])))
    for one, other in zip(results[0][0].spike_ids, results[1][0].spike_ids):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(results[0][1], results[1][1]):
        scale = np.abs(other).max()
        assert scale > 0
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=2e-5 * scale)
