"""The op that adds the spikes of several layers, against the reference."""

from __future__ import annotations

from typing import Any, List

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.reference.spikes import added_spikes as reference
from ipulse_ops.reference.spikes import sparse_to_dense
from ipulse_ops.sparse import added_spikes
from tests.ops.strategies import random_spikes

NEURONS = 14


def lists(slots: Any = (5, 9, 1)) -> List[Any]:
    rng = np.random.Generator(np.random.PCG64(2))
    return [random_spikes(rng, 6, 4, NEURONS, number) for number in slots]


@pytest.mark.old_python
def test_it_equals_the_reference_and_the_sum() -> None:
    spikes = lists()
    ids, counts = reference(spikes)
    found, left = added_spikes(spikes, NEURONS)
    np.testing.assert_array_equal(found, ids[..., : counts.max()])
    np.testing.assert_array_equal(left, np.stack([counts, counts], axis=-1))
    total = sum(sparse_to_dense(*each, NEURONS) for each in spikes)
    np.testing.assert_array_equal(sparse_to_dense(ids, counts, NEURONS), total)


def test_gradients_go_back_to_every_list() -> None:
    """Spikes of all lists come first, then the neurons of all that only carry gradient."""
    spikes = [(ids, np.stack([filled // 2, filled], axis=-1)) for ids, filled in lists()]
    sent = [tf.constant(ids, tf.float32) for ids, _ in spikes]
    weights = np.arange(6 * 4 * 15, dtype=np.float32).reshape(6, 4, 15)
    with tf.GradientTape() as tape:
        tape.watch(sent)
        ids, _ = added_spikes([(ids, each[1]) for ids, each in zip(sent, spikes)], NEURONS)
        loss = tf.reduce_sum(ids * weights[..., : ids.shape[2]])
    gradients = tape.gradient(loss, sent)
    for t, b in np.ndindex(6, 4):
        rest = list(weights[t, b])
        expected = [np.zeros(ids.shape[2]) for ids, _ in spikes]
        for spiking in (True, False):
            for slots, (_, counts) in zip(expected, spikes):
                first, end = (0, counts[t, b, 0]) if spiking else counts[t, b]
                for k in range(first, end):
                    slots[k] = rest.pop(0)
        for gradient, slots in zip(gradients, expected):
            np.testing.assert_array_equal(gradient[t, b], slots)


def test_lists_of_other_samples_are_refused() -> None:
    (ids, counts), other = lists((5, 9))
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        added_spikes([(ids[:, :2], counts[:, :2]), other], NEURONS)
