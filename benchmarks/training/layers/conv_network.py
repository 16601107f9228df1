"""The convolutional networks of benchmarks.training.convolutions."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

from ipulse_core.spec.conv_geometry import Planes, conv_geometry
from ipulse_ops.keras import LIF, LeakyReadout, LIFReadout, MultiLIF
from ipulse_ops.keras.convolutions.conv_network import ConvNetwork
from ipulse_ops.keras.convolutions.convolution import Convolution
from ipulse_ops.lif.conv_layer import ConvLIF

RATE = 0.02  # of the hidden layers


@dataclass(frozen=True)
class ConvConfig:
    """Sizes of one benchmark."""

    planes: Planes
    layers: tuple[dict[str, Any], ...]
    neurons: int | None  # of a fully connected layer behind them
    classes: int
    steps: int
    batch: int
    rate: float  # of the input channels


_POOLED = {"pool": (2, 2)}
_SAME = {"kernel": (3, 3), "padding": "same", **_POOLED}
_ROW = {"kernel": (1, 7), "strides": (1, 2)}
CONFIGS = {
    "A": ConvConfig(
        Planes(34, 34, 2),
        (
            {"filters": 12, "kernel": (5, 5), **_POOLED},
            {"filters": 32, "kernel": (5, 5), **_POOLED},
        ),
        *(None, 10, 100, 64, 0.02),
    ),
    "B": ConvConfig(
        Planes(64, 64, 2),
        ({"filters": 16, **_SAME}, {"filters": 32, **_SAME}, {"filters": 32, **_SAME}),
        *(256, 11, 50, 16, 0.01),
    ),
    "C": ConvConfig(
        Planes(1, 700, 1),
        ({"filters": 32, **_ROW}, {"filters": 64, **_ROW}),
        *(None, 20, 100, 64, 0.02),
    ),
}


def network_of(config: ConvConfig, second: float | None, threads: int) -> ConvNetwork:
    """Return the network with random weights."""
    rng = np.random.RandomState(1)
    entering = config.planes
    layers = []
    for number, sizes in enumerate(config.layers):
        geometry = conv_geometry(entering, **sizes)
        neurons = ConvLIF(geometry, second_threshold=second)
        layers.append(Convolution(neurons, threads=threads, name=f"convolution_{number}"))
        layers[-1].set_kernels([rng.normal(size=geometry.weights).astype(np.float32)])
        entering = geometry.pooled
    rest: Any
    if config.neurons is None:
        rest = LIFReadout(entering.sites, LeakyReadout(config.classes), threads=threads)
    else:
        rest = MultiLIF(
            inputs=entering.sites,
            layers=[LIF(config.neurons, second_threshold=second)],
            readout=LeakyReadout(config.classes),
            threads=threads,
        )
    for kernel in rest.kernels:
        kernel.assign(rng.normal(size=kernel.shape) * 0.1)
    return ConvNetwork(layers, rest)


def scale_to_rate(network: ConvNetwork, ids: Any, counts: Any, rate: float) -> None:
    """Scale each convolution's weights until a fraction of its neurons spikes per step."""
    for layer in network.convolutions:
        kernel = layer.kernels[0].numpy()
        low, high = 0.0, 100.0
        for _ in range(18):
            factor = (low + high) / 2
            layer.set_kernels([kernel * np.float32(factor)])
            run = layer.run(ids, counts, training=False)
            spikes = float(tf.reduce_mean(run.activity[..., 0])) / layer.geometry.neurons
            low, high = (factor, high) if spikes < rate else (low, factor)
        run = layer.run(ids, counts, training=False)
        ids, counts = run.spike_ids, run.spike_counts


def programs(
    config: ConvConfig, second: float | None, threads: int, rate: float = RATE
) -> dict[str, Callable[[], Any]]:
    """Return the forward pass and the training step as functions without arguments."""
    rng = np.random.RandomState(2)
    dense = rng.random_sample((config.steps, config.batch, config.planes.sites)) < config.rate
    counts = dense.sum(axis=2).astype(np.int32)
    ids = np.zeros((*counts.shape, counts.max()), np.uint16)
    channel = np.nonzero(dense)[2]
    ids[np.arange(ids.shape[2]) < counts[..., None]] = channel
    labels = tf.constant(rng.randint(0, config.classes, config.batch))
    network = network_of(config, second, threads)
    sample = slice(0, 8)
    scale_to_rate(network, ids[:, sample], counts[:, sample], rate)
    spikes, numbers = tf.constant(ids), tf.constant(counts)
    optimizer = tf.keras.optimizers.Adam(1e-6)  # the rates shall not change
    variables = network.trainable_variables

    @tf.function
    def forward() -> Any:
        return tf.reduce_mean(network(spikes, numbers, training=False).membrane, axis=0)

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            scores = tf.reduce_mean(network(spikes, numbers).membrane, axis=0)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
            )
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return {"forward": forward, "step": step}
