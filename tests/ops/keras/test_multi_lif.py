"""MultiLIF as a Keras layer, on Keras 2 and 3."""

from __future__ import annotations

import json
from typing import Any, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras import (
    LIF,
    ArcTan,
    Boxcar,
    Exponential,
    LeakyReadout,
    MultiLIF,
    SuperSpike,
    Table,
)
from ipulse_ops.keras.config import plain_surrogate
from ipulse_ops.lif.cpu import arrays
from ipulse_ops.reference.spikes import dense_to_sparse
from ipulse_ops.surrogate import surrogate_of


def layer(**options: Any) -> MultiLIF:
    options.setdefault("layers", [LIF(neurons=24, second_threshold=0.5), LIF(neurons=12)])
    return MultiLIF(inputs=10, readout=LeakyReadout(neurons=3), **options)


def spikes(seed: int = 0) -> Tuple[np.ndarray, np.ndarray]:
    rng = np.random.Generator(np.random.PCG64(seed))
    return dense_to_sparse(rng.random((15, 4, 10)) < 0.3)


class TestLayer:
    def test_weights_are_named_in_order_and_glorot(self) -> None:
        net = layer(name="net")
        names = [kernel.name.split("/")[-1].split(":")[0] for kernel in net.kernels]
        assert names == ["kernel_1", "kernel_2", "kernel_3"]
        assert [tuple(kernel.shape) for kernel in net.kernels] == [(10, 24), (24, 12), (12, 3)]
        assert len(net.trainable_weights) == 3
        limit = np.sqrt(6 / (10 + 24))
        assert 0.8 * limit < np.abs(net.get_weights()[0]).max() <= limit

    def test_it_runs_the_network_with_its_weights(self) -> None:
        net, (ids, counts) = layer(delay=1), spikes()
        rng = np.random.Generator(np.random.PCG64(1))
        net.set_kernels([rng.normal(0, 0.5, w.shape) for w in net.kernels])
        out = net(ids, counts)
        run = arrays.forward(net.network, [kernel.numpy() for kernel in net.kernels], ids, counts)
        np.testing.assert_array_equal(out.membrane, run.membrane)
        for number, same in enumerate(run.layers):
            assert same.spike_counts[..., 0].max() > 0
            np.testing.assert_array_equal(out.spike_ids[number], same.spike_ids)

    @pytest.mark.old_python
    def test_tape_reaches_the_kernels(self) -> None:
        net, (ids, counts) = layer(), spikes()
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(net(ids, counts).membrane ** 2)
        assert all(grad is not None for grad in tape.gradient(loss, net.trainable_weights))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(net(ids, counts, training=False).membrane ** 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="it ran with training=False"):
            tape.gradient(loss, net.trainable_weights)

    @pytest.mark.old_python
    def test_config_round_trip_through_json(self) -> None:
        net = layer(
            layers=[LIF(neurons=4, decay=np.array([0.5, 0.75, 0.9, 0.0]), capacity=2, gain=5.0)],
            reset_gradient="term",
            delay=1,
            surrogate=SuperSpike(slope=4.0),
            threads=2,
            name="net",
        )
        again = MultiLIF.from_config(json.loads(json.dumps(net.get_config())))
        assert again.get_config() == net.get_config()
        assert again.threads == 2
        ids, counts = spikes()
        again.set_weights(net.get_weights())
        np.testing.assert_array_equal(net(ids, counts).membrane, again(ids, counts).membrane)

    def test_frozen_and_surrogate_survive_a_round_trip(self) -> None:
        net = layer(name="net", trainable=False)
        again = MultiLIF.from_config(json.loads(json.dumps(net.get_config())))
        assert again.get_config() == net.get_config()
        assert again.trainable_weights == []
        table = Table(values=(0.0, 1.0, 0.0), width=0.5)
        for surrogate in (table, ArcTan(slope=2.0), Boxcar(), Exponential(), SuperSpike()):
            assert surrogate_of(json.loads(json.dumps(plain_surrogate(surrogate)))) == surrogate
        assert surrogate_of("arctan") == ArcTan()

    def test_unknown_names_are_refused_with_the_known_ones(self) -> None:
        with pytest.raises(ValueError, match="memory must be slots or recompute; got all"):
            layer(memory="all")
        with pytest.raises(ValueError, match="trainable must be decay, threshold, synapse_decay, "):
            layer(trainable=["gain"])
        with pytest.raises(ValueError, match=r"superspike, arctan, .*; got cosine"):
            layer(surrogate="cosine")

    def test_wrong_constants_are_refused(self) -> None:
        with pytest.raises(ValueError, match="delay must be 0 to 65535"):
            layer(delay=-1)
        with pytest.raises(ValueError, match="at least one hidden layer"):
            layer(layers=[])

    @pytest.mark.old_python
    def test_float32_whatever_the_policy(self) -> None:
        before = tf.keras.mixed_precision.global_policy()
        tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
        try:
            net = layer()
            assert net(*spikes()).membrane.dtype == tf.float32
        finally:
            tf.keras.mixed_precision.set_global_policy(before)


class Classifier(tf.keras.Model):  # type: ignore[misc] # TensorFlow has no types
    def __init__(self) -> None:
        super().__init__()
        self.net = MultiLIF(
            inputs=20,
            layers=[LIF(neurons=40, second_threshold=0.5)],
            readout=LeakyReadout(neurons=4),
        )

    def call(self, inputs: Any, training: Any = None) -> Any:
        ids, counts = inputs  # batch first, as Keras cuts batches
        out = self.net(tf.transpose(ids, [1, 0, 2]), tf.transpose(counts), training=training)
        return tf.reduce_mean(out.membrane, axis=0)


class TestTraining:
    def test_fit_learns_a_toy_task(self) -> None:
        """Four classes, each with five channels that spike often: fit, evaluate, predict."""
        seed = 3
        rng = np.random.Generator(np.random.PCG64(seed))
        labels = rng.integers(0, 4, 512)
        rate = np.where(np.arange(20) // 5 == labels[:, None], 0.4, 0.1)
        ids, counts = dense_to_sparse(rng.random((20, 512, 20)) < rate)
        inputs = (ids.transpose(1, 0, 2), counts.T)
        model = Classifier()
        model.net.set_kernels([rng.normal(0, 0.3, w.shape) for w in model.net.kernels])
        model.compile(
            optimizer=tf.keras.optimizers.Adam(0.005),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        train = tuple(array[:400] for array in inputs)
        test = tuple(array[400:] for array in inputs)
        model.fit(train, labels[:400], epochs=5, batch_size=40, verbose=0, shuffle=False)
        _, accuracy = model.evaluate(test, labels[400:], verbose=0)
        assert accuracy > 0.95, f"seed {seed}"
        predicted = np.argmax(model.predict(test, verbose=0), axis=1)
        assert np.mean(predicted == labels[400:]) == pytest.approx(accuracy)
