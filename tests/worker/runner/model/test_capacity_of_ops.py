"""A capacity of a custom op: of the spikes that it returns, the slots of the reference."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Sequence, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.reference.select_spikes import cyclic_offsets, filled, select_spikes
from ipulse_worker.runner.model.op_layer import OpLayer

STEPS, BATCH, SENDERS, NEURONS, SEED = 6, 4, 10, 8, 5


class Weight(NamedTuple):
    name: str
    minimum: Any = None
    maximum: Any = None


class Ops:
    """In place of a process: neurons without states, whose gradient is that of their weights."""

    def weights_of(self, index: int) -> List[Tuple[Weight, Tuple[int, int]]]:
        return [(Weight("kernel"), (SENDERS, NEURONS))]

    def forward(self, index: int, spikes: np.ndarray, weights: Sequence[np.ndarray]) -> np.ndarray:
        return (spikes @ weights[0] > 0.5).astype(np.float32)

    def backward(
        self,
        index: int,
        by_output: np.ndarray,
        spikes: np.ndarray,
        weights: Sequence[np.ndarray],
        output: np.ndarray,
    ) -> List[np.ndarray]:
        return [by_output @ weights[0].T, np.einsum("tbi,tbo->io", spikes, by_output)]


@pytest.mark.old_python
@pytest.mark.parametrize("policy", ["index", "cyclic"])
@pytest.mark.parametrize("capacity", [1, 3, NEURONS])
def test_slots_and_gradients_are_those_of_the_reference(policy: str, capacity: int) -> None:
    rng = np.random.default_rng(4)
    kernel = rng.normal(0.1, 0.5, (SENDERS, NEURONS))
    ops: Any = Ops()
    layer = OpLayer(ops, 0, SENDERS, NEURONS, capacity=capacity, policy=policy)
    layer.set_kernels([kernel.astype(np.float32)])
    ids = np.tile(np.arange(SENDERS), (STEPS, BATCH, 1)).astype(np.float32)
    order = rng.random(ids.shape).argsort(axis=-1)
    ids = np.take_along_axis(ids, order, axis=-1)[..., :6]
    counts = rng.integers(0, 7, (STEPS, BATCH)).astype(np.int32)
    spikes = np.zeros((STEPS, BATCH, SENDERS))
    for at in zip(*np.nonzero(np.arange(6) < counts[..., None])):
        spikes[(*at[:2], int(ids[at]))] = 1
    output = spikes @ kernel > 0.5
    offsets = None
    if policy == "cyclic":
        offsets = cyclic_offsets(SEED, 0, STEPS, BATCH, NEURONS)
    chosen = select_spikes(output - 0.5, 0.0, None, capacity, policy, offsets)
    weights = rng.normal(size=chosen.spike_ids.shape)
    entering = tf.constant(ids)
    with tf.GradientTape() as tape:
        tape.watch(entering)
        found = layer.run(entering, counts, True, seed=SEED)
        loss = tf.reduce_sum(weights.astype(np.float32) * found.ids)
    by_ids, by_kernel = tape.gradient(loss, [entering, layer.kernels[0]])
    np.testing.assert_array_equal(found.ids, chosen.spike_ids)
    np.testing.assert_array_equal(found.counts, chosen.spike_counts)
    np.testing.assert_array_equal(found.dropped, chosen.dropped)
    assert chosen.dropped.any() == (capacity < NEURONS)
    by_output = np.zeros(output.shape)
    place = np.nonzero(filled(chosen.spike_ids, chosen.spike_counts[..., 1]))
    by_output[(*place[:-1], chosen.spike_ids[place])] = weights[place]
    np.testing.assert_allclose(
        by_kernel, np.einsum("tbi,tbo->io", spikes, by_output), rtol=1e-4, atol=1e-5
    )
    by_input = np.take_along_axis(by_output @ kernel.T, ids.astype(np.int64), axis=-1)
    by_input = np.where(np.arange(6) < counts[..., None], by_input, 0)
    np.testing.assert_allclose(by_ids, by_input, rtol=1e-4, atol=1e-5)
