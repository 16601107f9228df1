"""A convolution of spikes with random numbers, run by the op on CPUs and by the reference."""

from typing import Any, List

import numpy as np
import tensorflow as tf

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.conv import spike_conv_reference as reference
from ipulse_ops.conv.spike_conv import spike_conv
from tests.ops.conv.cases import case

SCALE = 0.25


class Problem:
    """A convolution, spikes of which some slots are gradient-only, and a gradient."""

    def __init__(self, name: str, batch: int, dyadic: bool = False, spikes: str = "few") -> None:
        crowded = spikes == "crowded"
        of = case(name, 6, steps=4, batch=batch, dyadic=dyadic, crowded=crowded, bias=True)
        rng = np.random.RandomState(8)
        self.geometry: ConvGeometry = of.layer.geometry
        self.kernel, self.bias, self.ids = of.kernel, of.bias, of.ids
        self.counts = np.stack([of.counts // 2, of.counts], axis=-1)
        # A slot for every input, as of a layer in which all neurons carry gradient.
        if spikes == "full":
            sites = self.geometry.entering.sites
            shape = (*of.counts.shape, sites)
            self.ids = rng.random_sample(shape).argsort(axis=-1).astype(np.int32)
            self.counts = np.stack([of.counts, np.full(of.counts.shape, sites)], axis=-1)
        shape = (*of.counts.shape, self.geometry.neurons)
        by_current = rng.randint(-8, 9, shape) / 4 if dyadic else rng.normal(size=shape)
        self.by_current = by_current.astype(np.float32)

    def of_op(self, **options: Any) -> List[np.ndarray]:
        watched = [tf.constant(self.kernel), tf.constant(self.bias)]
        watched.append(tf.constant(self.ids, tf.float32))
        with tf.GradientTape() as tape:
            tape.watch(watched)
            kernel, bias, ids = watched
            currents = spike_conv(
                self.geometry, kernel, ids, self.counts, bias, input_scale=SCALE, **options
            )
            loss = tf.reduce_sum(currents * self.by_current)
        return [currents.numpy(), *(grad.numpy() for grad in tape.gradient(loss, watched))]

    def of_reference(self, dtype: Any) -> List[np.ndarray]:
        kernel, bias = self.kernel.astype(dtype), self.bias.astype(dtype)
        spikes = self.ids, self.counts
        grad = self.by_current.astype(dtype)
        currents = reference.spike_conv(self.geometry, kernel, *spikes, bias, SCALE)
        found = reference.spike_conv_gradients(self.geometry, kernel, *spikes, grad, SCALE)
        return [currents, found.kernel, found.bias, found.slots]
