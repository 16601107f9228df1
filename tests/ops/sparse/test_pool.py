"""pooled_spikes as an op: compared with the NumPy reference, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.reference import pooled_spikes as reference
from ipulse_ops.sparse import pooled_spikes
from tests.ops.conv.cases import case


@pytest.mark.old_python
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint16])
@pytest.mark.parametrize("name", ["plain", "pool", "cropped", "wide"])
def test_values_and_gradients_are_the_references(name: str, dtype: Any) -> None:
    geometry = case(name, 1).layer.geometry
    sites, rng = np.array(geometry.site_of, np.int32), np.random.RandomState(3)
    ids = np.stack([rng.permutation(geometry.neurons) for _ in range(12)]).reshape(4, 3, -1)
    filled = rng.randint(0, geometry.neurons + 1, (4, 3))
    counts = np.stack([filled // 3, filled], axis=-1)
    counts[0, 0], counts[1, 1], counts[2, 2] = 0, geometry.neurons, (0, geometry.neurons)
    entering = tf.constant(ids.astype(dtype))
    with tf.GradientTape() as tape:
        if dtype == np.float32:
            tape.watch(entering)
        pooled, numbers = pooled_spikes(entering, counts, sites)
        slots = rng.normal(size=pooled.shape).astype(np.float32)
        loss = tf.reduce_sum(pooled * slots)
    expected, both, origin = reference.pooled_spikes(ids, counts, sites.tolist())
    np.testing.assert_array_equal(pooled, expected)
    np.testing.assert_array_equal(numbers, both)
    gradient = tape.gradient(loss, entering)
    if dtype != np.float32:
        assert gradient is None
        return
    by_slot = np.take_along_axis(slots, np.maximum(origin, 0), axis=2)
    np.testing.assert_array_equal(gradient, np.where(origin < 0, 0, by_slot))


def test_each_gradient_only_site_is_listed_once() -> None:
    sites = np.array([0, 0, 0, 1, 1, -1], np.int32)
    ids = np.array([[5, 0, 1, 2, 4, 3]], np.float32)
    pooled, counts = pooled_spikes(ids, np.array([[3, 6]]), sites)
    assert counts.numpy().tolist() == [[2, 4]]  # without the cropped neuron
    assert pooled.numpy().tolist() == [[0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("ids", "counts", "sites", "says"),
    [
        ([[3]], [1], [0, 1, 2], r"ids\[0, 0\] is 3"),
        ([[0]], [2], [0, 1, 2], r"counts\[0\] is 2"),
        ([[0]], [1], [0, 3, 2], r"sites\[1\] is 3"),
        ([[0]], [1], [0, -2, 2], r"sites\[1\] is -2"),
        ([[0]], [1], [[0]], "sites must be"),
    ],
)
def test_what_does_not_fit_is_named(ids: Any, counts: Any, sites: Any, says: str) -> None:
    arrays = (np.array(value, np.int32) for value in (ids, counts, sites))
    with pytest.raises(tf.errors.InvalidArgumentError, match=says):
        pooled_spikes(*arrays)
