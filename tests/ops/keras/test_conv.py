"""LIFConv2D in Keras: in a stack with other layers, trained by fit, and saved."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras import LIF, LeakyReadout, LIFConv2D, LIFLayer, LIFReadout
from ipulse_ops.reference.standardisation import standardise, standardise_gradient
from ipulse_ops.sparse import dense_to_sparse


def _spikes(batch: int, sites: int, seed: int = 0) -> Any:
    dense = np.random.RandomState(seed).random_sample((10, batch, sites)) < 0.1
    return dense_to_sparse(tf.constant(dense, tf.float32), capacity=sites)


@pytest.mark.verify
def test_a_stack_learns_bars_by_gradient() -> None:
    rng = np.random.RandomState(1)
    labels = rng.randint(0, 2, 64)
    images = np.zeros((12, 64, 6, 6), np.float32)
    for sample, label in enumerate(labels):  # a bar that moves: upright or lying
        for t in range(12):
            at = (sample + t) % 6
            images[t, sample, :, at] = label
            images[t, sample, at, :] = 1 - label
    spikes = dense_to_sparse(tf.constant(images.reshape(12, 64, 36)), capacity=36)
    first = LIFConv2D((6, 6, 1), 4, 3, pool_size=2, bias=True, second_threshold=0.0)
    second = LIFConv2D((2, 2, 4), 8, 2, padding="same", input_scale=0.25, delay=1)
    hidden = LIFLayer(first.geometry.size[0] // 2 * 2 * 8, LIF(16))
    readout = LIFReadout(16, LeakyReadout(2))
    layers = [first, second, hidden, readout]
    variables = [variable for layer in layers for variable in layer.trainable_variables]
    for variable in variables:
        if len(variable.shape) > 1:
            size = np.prod(variable.shape[:-1])
            variable.assign(rng.normal(0.5, 2, variable.shape) / np.sqrt(size))
    optimizer = tf.keras.optimizers.Adam(0.01)

    def loss_of() -> Any:
        found: Any = spikes
        for layer in layers:
            found = layer(found)
        scores = tf.reduce_mean(found, axis=0)
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
        )

    losses = []
    for _ in range(40):
        with tf.GradientTape() as tape:
            loss = loss_of()
        gradients = tape.gradient(loss, variables)
        if not losses:
            assert all(np.any(gradient.numpy()) for gradient in gradients)
        optimizer.apply_gradients(zip(gradients, variables))
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0], losses


@pytest.mark.old_python
def test_the_configuration_makes_the_same_layer() -> None:
    layer = LIFConv2D(
        *((7, 5, 4), 6, (3, 2)),
        strides=(2, 1),
        padding="same",
        groups=2,
        pool_size=(2, 1),
        data_format="channels_first",
        second_threshold=0.5,
        surrogate="boxcar",
    )
    again = LIFConv2D.from_config(layer.get_config())
    assert again.neurons == layer.neurons
    again.set_kernels([kernel.numpy() for kernel in layer.kernels])
    spikes = _spikes(3, 140)
    for found, expected in zip(again(spikes), layer(spikes)):
        np.testing.assert_array_equal(found, expected)


def test_the_batch_may_come_first() -> None:
    layer = LIFConv2D((4, 4, 1), 3, 3)
    other = LIFConv2D.from_config({**layer.get_config(), "time_major": False})
    other.set_kernels([kernel.numpy() for kernel in layer.kernels])
    ids, counts = _spikes(3, 16)
    found = other(tf.transpose(ids, [1, 0, 2]), tf.transpose(counts))
    expected = layer(ids, counts)
    np.testing.assert_array_equal(tf.transpose(found.ids, [1, 0, 2]), expected.ids)
    with pytest.raises(ValueError, match="time_major"):
        LIFLayer(12, LIF(2))(found)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kernel_size": 9}, "would be empty"),
        ({"pool_size": 9}, "would be empty"),
        ({"groups": 2}, "groups"),
        ({"threshold": 0.0}, "threshold"),
        ({"decay": 1.5}, "decay"),
        ({"second_threshold": 2.0}, "second_threshold"),
        ({"padding": "full"}, "padding"),
        ({"strides": (1, 2, 3)}, "strides"),
        ({"data_format": "nchw"}, "data_format"),
        ({"dtype": "float16"}, "dtype"),
    ],
)
def test_wrong_arguments_are_refused(wrong: Any, message: str) -> None:
    arguments = {"input_planes": (8, 8, 1), "filters": 4, "kernel_size": 3, **wrong}
    with pytest.raises(ValueError, match=message):
        LIFConv2D(**arguments)


def test_a_gradient_of_a_run_without_training_is_an_error() -> None:
    layer = LIFConv2D((4, 4, 1), 3, 3)
    with tf.GradientTape() as tape:
        found = layer(_spikes(2, 16), training=False)
        total = tf.reduce_sum(found.ids)
    with pytest.raises((ValueError, LookupError), match="keep"):
        tape.gradient(total, layer.trainable_variables)


@pytest.mark.old_python
def test_a_standardised_kernel_is_the_references() -> None:
    rng = np.random.RandomState(5)
    spikes = dense_to_sparse(tf.constant((rng.rand(8, 4, 72) < 0.2).astype(np.float32)))
    options: Any = {"input_planes": (6, 6, 2), "filters": 4, "kernel_size": 3, "groups": 2}
    layer = LIFConv2D(**options, standardised=True)
    kernel = rng.normal(0.3, 1, layer.geometry.weights).astype(np.float32)
    layer.set_kernels([kernel])
    matrix, std = kernel.reshape(-1, 4), kernel.reshape(-1, 4).std(axis=0)
    np.testing.assert_allclose(layer.deviation, std, rtol=1e-5)
    plain = LIFConv2D(**options)
    plain.set_kernels([standardise(matrix, std).reshape(kernel.shape)])
    counted, gradients = [], []
    for each in (layer, plain):
        with tf.GradientTape() as tape:
            found = each(spikes)
            loss = tf.reduce_sum(found.ids)
        counted.append(found.counts)
        gradients.append(tape.gradient(loss, each.trainable_variables))
    np.testing.assert_array_equal(counted[0], counted[1])
    of_plain = np.asarray(gradients[1][0], np.float64).reshape(-1, 4)
    assert np.any(of_plain)
    expected = standardise_gradient(matrix, std, of_plain)
    for one, other in zip(gradients[0], expected):
        other = other.reshape(one.shape)
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * np.abs(other).max())
    again = LIFConv2D.from_config(layer.get_config())
    assert again.deviation is not None
    assert LIFConv2D.from_config(plain.get_config()).deviation is None
