"""A capacity of neurons of a package: the slots and gradients of the float64 reference."""

from __future__ import annotations

from itertools import product
from typing import Optional

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.reference.select_spikes import cyclic_offsets, filled, select_spikes
from tests.ops.neuron_package.layers import (
    BATCH,
    NEURONS,
    SENDERS,
    STEPS,
    VALUES,
    Reference,
    batch,
    package_layer,
)

SEED = 11


@pytest.mark.old_python
@pytest.mark.parametrize(
    ("policy", "capacity"),
    [("index", None), *product(("index", "cyclic"), (1, 3, NEURONS))],
)
def test_slots_and_gradients_are_those_of_the_reference(
    policy: str, capacity: Optional[int]
) -> None:
    layer = package_layer(capacity=capacity, policy=policy, seed=3)
    reference = Reference(layer)
    offsets = None
    if policy == "cyclic":
        offsets = cyclic_offsets(SEED, 0, STEPS, BATCH, NEURONS)
    chosen = select_spikes(reference.spikes - 0.5, 0.0, None, capacity, policy, offsets)
    weights = np.random.default_rng(7).normal(size=chosen.spike_ids.shape)
    variables = [layer.kernels[0], *layer._trained]
    with tf.GradientTape() as tape:
        found = layer.run(*batch(), True, seed=SEED)
        loss = tf.reduce_sum(weights.astype(np.float32) * found.ids)
    gradients = tape.gradient(loss, variables)
    if capacity is not None:
        np.testing.assert_array_equal(found.ids, chosen.spike_ids)
        assert found.dropped.numpy().any() == (capacity < NEURONS)
    np.testing.assert_array_equal(found.counts, chosen.spike_counts)
    np.testing.assert_array_equal(found.dropped, chosen.dropped)
    by_spikes = np.zeros((STEPS, BATCH, NEURONS))
    listed = found.ids.numpy().astype(np.int64)
    place = np.nonzero(filled(listed, chosen.spike_counts[..., 1]))
    by_spikes[(*place[:-1], listed[place])] = weights[place]
    by_current, by_parameters = reference.gradients(by_spikes)
    expected = [reference.by_kernel(by_current)]
    for name in VALUES:
        by_parameter = by_parameters[name]
        expected.append(by_parameter.sum(keepdims=True) if name == "coupling" else by_parameter)
    for one, other in zip(gradients, expected):
        assert np.any(other)
        limit = 1e-5 * np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=limit)


def test_without_membranes_none_is_the_highest() -> None:
    with pytest.raises(ValueError, match="policy"):
        package_layer(capacity=2, policy="top")


def test_a_recurrent_layer_sends_all_its_spikes() -> None:
    with pytest.raises(ValueError, match="recurrent"):
        package_layer(capacity=2, recurrent=True)


def test_senders_of_the_example_differ() -> None:
    """The tests above mean something: neurons spike, and not all of them."""
    rate = Reference(package_layer()).spikes.mean()
    assert 0.1 < rate < 0.7, rate
    assert SENDERS != NEURONS
