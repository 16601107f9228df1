"""Times of first spikes and their derivative by flipping single spikes; losses by the formulas."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.training import temporal_losses

SEED = 23
TIME, BATCH, NEURONS = 9, 3, 4
LABELS = np.array([2, 0, 1], np.int32)


def times_of(spikes: np.ndarray) -> np.ndarray:
    """Return the first steps of dense spikes `[time, batch, neurons]`."""
    first: np.ndarray = np.where(spikes.any(axis=0), spikes.argmax(axis=0), len(spikes))
    return first


def listed(spikes: np.ndarray) -> np.ndarray:
    """Return ids in which every neuron has a slot: the spiking ones, then the others."""
    return np.argsort(1 - spikes, axis=2, kind="stable").astype(np.float32)


def test_times_and_derivatives_are_those_of_flipped_spikes() -> None:
    spikes = (np.random.RandomState(SEED).rand(TIME, BATCH, NEURONS) < 0.2).astype(int)
    spikes[:, 0, 1] = 0  # a silent neuron
    ids, counts = listed(spikes), np.full((TIME, BATCH, 2), NEURONS, np.float32)
    counts[..., 0] = spikes.sum(axis=2)
    variable = tf.constant(ids)
    weights = np.random.RandomState(SEED + 1).randn(BATCH, NEURONS).astype(np.float32)
    with tf.GradientTape() as tape:
        tape.watch(variable)
        times = temporal_losses.first_spike_times(variable, counts, NEURONS)
        total = tf.reduce_sum(times * weights)
    np.testing.assert_array_equal(times, times_of(spikes))
    by_slot = tape.gradient(total, variable).numpy()
    found = np.zeros((TIME, BATCH, NEURONS))
    np.put_along_axis(found, ids.astype(int), by_slot, axis=2)
    for t, b, n in np.ndindex(TIME, BATCH, NEURONS):
        flipped = spikes.copy()
        flipped[t, b, n] = 1 - flipped[t, b, n]
        sign = 1 if flipped[t, b, n] else -1
        change = sign * (times_of(flipped) - times_of(spikes))[b, n] * weights[b, n]
        np.testing.assert_allclose(found[t, b, n], change, rtol=1e-6)


def test_neurons_without_a_slot_receive_nothing() -> None:
    spikes = np.zeros((TIME, 1, NEURONS), int)
    spikes[5, 0, 2] = 1
    variable = tf.constant(listed(spikes))
    counts = np.zeros((TIME, 1, 2), np.float32)
    counts[5] = 1
    with tf.GradientTape() as tape:
        tape.watch(variable)
        total = tf.reduce_sum(temporal_losses.first_spike_times(variable, counts, NEURONS))
    found = tape.gradient(total, variable).numpy()
    assert found[5, 0, 0] == 5 - TIME
    found[5, 0, 0] = 0
    assert not found.any()


@pytest.mark.old_python
def test_losses_are_the_formulas() -> None:
    times = np.random.RandomState(SEED).randint(0, TIME + 1, (BATCH, NEURONS)).astype(np.float32)
    membrane = np.random.RandomState(SEED).randn(TIME, BATCH, NEURONS).astype(np.float32)
    for logits, loss in (
        (-times / 2.5, temporal_losses.first_spike_cross_entropy(times, LABELS, 2.5)),
        (membrane[-1], temporal_losses.last_membrane_cross_entropy(membrane, LABELS)),
    ):
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(loss, -np.log(shares[np.arange(BATCH), LABELS]), rtol=1e-5)
    times[:, 3] = times.min() - 1
    assert temporal_losses.predicted_by_first_spike(times).numpy().tolist() == [3, 3, 3]
    last = membrane[-1].argmax(axis=1).tolist()
    assert temporal_losses.predicted_by_last(membrane).numpy().tolist() == last
