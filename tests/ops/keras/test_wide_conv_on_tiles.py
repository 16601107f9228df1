"""A convolution with lists so wide that each is on a tile of its own: as on the CPU, to the bit."""

from typing import Any, Dict, List

import numpy as np
import tensorflow as tf

from ipulse_core.spec.conv_geometry import Planes, conv_geometry
from ipulse_ops.keras.convolutions.convolution import Convolution
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.sparse import dense_to_sparse


def test_wide_lists() -> None:
    geometry = conv_geometry(Planes(16, 16, 2), 40, (3, 3), pool=(2, 2))
    rng = np.random.default_rng(4)
    dense = (rng.random((4, 3, 512)) < 0.1).astype(np.float32)
    ids, counts = dense_to_sparse(tf.constant(dense), capacity=128)[:2]
    kernel = rng.normal(size=geometry.weights).astype(np.float32)
    factors = tf.constant(rng.normal(size=(4, 3, geometry.pooled_neurons)).astype(np.float32))
    found: Dict[str, List[Any]] = {}
    for backend in ("cpu", "emulator"):
        layer = Convolution(ConvLIF(geometry, gain=4.0), backend=backend, tiles_per_ipu=40)
        layer.set_kernels([kernel])
        with tf.GradientTape() as tape:
            tape.watch(ids)
            spikes = layer.run(ids, counts)
            most = int(spikes.spike_counts[..., 0].numpy().max())
            of_spikes = tf.sequence_mask(tf.cast(spikes.spike_counts[..., 0], tf.int32), most)
            listed = tf.where(of_spikes, spikes.spike_ids[..., :most], 0.0)
            loss = tf.reduce_sum(listed * factors[..., :most])
        gradients = tape.gradient(loss, [ids, layer.kernels[0]])
        found[backend] = [listed, spikes.spike_counts[..., 0], *gradients]
    assert int(found["cpu"][1].numpy().max()) > 20
    for on_tiles, on_cpu in zip(found["emulator"], found["cpu"]):
        assert np.any(on_cpu.numpy())
        np.testing.assert_array_equal(on_tiles.numpy(), on_cpu.numpy())
