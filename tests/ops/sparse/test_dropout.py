"""The op that lists the spikes of kept senders, against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.reference.dropout import kept_senders, received_spikes
from ipulse_ops.sparse import kept_spikes
from tests.ops.strategies import random_spikes


def spikes(seed: int = 0, neurons: int = 21) -> Any:
    rng = np.random.Generator(np.random.PCG64(seed))
    return random_spikes(rng, 12, 7, neurons, slots=9, duplicates=True)


@pytest.mark.old_python
@pytest.mark.parametrize("kind", [np.int32, np.uint16, np.float32])
@pytest.mark.parametrize("seed", [0, 5, 2**64 - 1])
def test_it_equals_the_reference(seed: int, kind: type) -> None:
    ids, counts = spikes()
    kept = kept_senders(seed, 2, 7, 21, 0.4)
    expected = received_spikes(ids, counts, kept)
    found, left = kept_spikes(ids.astype(kind), counts, 21, 0.4, seed, layer=2)
    if kind is np.float32:
        np.testing.assert_array_equal(left[..., 0], left[..., 1])
        left = left[..., 0]
    slots = max(expected[1].max(), 1)
    np.testing.assert_array_equal(found, expected[0][..., :slots])
    np.testing.assert_array_equal(left, expected[1])


def test_gradients_go_to_the_slots_of_kept_senders() -> None:
    """Behind the spikes of half the slots are neurons that only carry gradient."""
    ids, filled = spikes(seed=3)
    counts = np.stack([filled // 2, filled], axis=-1)
    sent = tf.constant(ids, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(sent)
        found, left = kept_spikes(sent, counts, 21, 0.5, seed=4)
        weights = np.random.Generator(np.random.PCG64(1)).normal(size=ids.shape)
        weights = weights[..., : found.shape[2]]
        loss = tf.reduce_sum(found * tf.constant(weights, tf.float32))
    gradient = tape.gradient(loss, sent).numpy()
    kept = kept_senders(4, 0, 7, 21, 0.5)
    for t, b in np.ndindex(*filled.shape):
        stays = [k for k in range(filled[t, b]) if kept[b, ids[t, b, k]]]
        expected = np.zeros(ids.shape[2])
        expected[stays] = weights[t, b, : len(stays)]
        np.testing.assert_allclose(gradient[t, b], expected, rtol=1e-6)
        spiking = sum(k < counts[t, b, 0] for k in stays)
        assert left[t, b].numpy().tolist() == [spiking, len(stays)]


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_rate_out_of_range_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="rate must be"):
        kept_spikes(*spikes(), 21, rate, 0)


def test_ids_of_other_senders_are_refused() -> None:
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="must be 0 to"):
        kept_spikes(*spikes(), 3, 0.5, 0)
