"""The forward pass of one layer, by the equations of network_pass.py."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

import numpy as np

from ipulse_ops.lif.network import LIF, Layer, LeakyReadout, Network
from ipulse_ops.lif.neuron_constants import current_scale, per_neuron
from ipulse_ops.lif.reference.trace import LayerTrace
from ipulse_ops.lif.weights import LayerWeights
from ipulse_ops.reference.select_spikes import (
    Selection,
    cyclic_offsets,
    filled,
    listed,
    may_be_dropped,
    select_spikes,
)
from ipulse_ops.reference.spike_matmul import spike_matmul
from ipulse_ops.reference.spikes import check_shape, check_spikes, sparse_to_dense

# A layer's spike_ids and spike_counts, as in LayerTrace.
Slots = Tuple[np.ndarray, np.ndarray]


class Constants(NamedTuple):
    """Constants of a layer, float64 `[neurons]`; 0 for those that it does not have."""

    decay: np.ndarray
    gain: np.ndarray
    synapse_decay: np.ndarray
    threshold: np.ndarray
    adaptation_strength: np.ndarray
    adaptation_decay: np.ndarray

    @property
    def scale(self) -> np.ndarray:
        """The factor of the current that enters the membrane."""
        return current_scale(self.decay, self.gain)


def constants_of(layer: Layer) -> Constants:
    """Return the constants of a layer or readout."""

    def values(name: str) -> np.ndarray:
        value = getattr(layer, name, None)
        return per_neuron(0.0 if value is None else value, layer.neurons, name)

    return Constants(*map(values, Constants._fields))


def run_layer(
    network: Network,
    number: int,
    weights: LayerWeights,
    ids: np.ndarray,
    counts: np.ndarray,
    replay: Optional[Slots],
    seed: int,
) -> LayerTrace:
    """Run spiking layer `number` on its input spikes; `replay` and `seed` as for `forward`."""
    layer = network.spiking[number]
    shape = (*counts.shape, layer.neurons)
    steps, batch = counts.shape
    slots: Slots = (
        np.zeros((steps, batch, layer.slots), np.int32),
        np.zeros((steps, batch, 2), np.int32),
    )
    if replay is not None:
        slots = checked_slots(layer, shape[:2], replay)
    spike_ids, spike_counts = slots
    offsets = None
    if layer.policy == "cyclic":
        offsets = cyclic_offsets(seed, number, steps, batch, layer.neurons)

    current = spike_matmul(weights.input, ids, counts)
    u, reset = np.zeros(shape), np.zeros(shape, dtype=bool)
    dropped = np.zeros((steps, batch), np.int32)
    constants = constants_of(layer)
    threshold = np.zeros(shape)  # theta
    i = v = b = np.zeros(shape[1:])
    for t in range(steps):
        if weights.recurrent is not None and t > 0:
            before = slice(t - 1, t)
            own = spike_matmul(weights.recurrent, spike_ids[before], spike_counts[before, :, 0])
            current[t] += own[0]
        if weights.bias is not None:
            current[t] += weights.bias
        i = synaptic_current(constants, i, current[t])
        u[t] = membrane(constants, v, i)
        here = None if offsets is None else offsets[t]
        threshold[t] = constants.threshold + constants.adaptation_strength * b
        spiking = u[t] > threshold[t]
        if replay is None:
            second = _second_threshold(layer, constants, b)
            selection = select_spikes(
                u[t], threshold[t], second, layer.capacity, layer.policy, here
            )
            spike_ids[t], spike_counts[t], dropped[t] = selection
            seen = listed(spike_ids[t], spike_counts[t, :, 0], layer.neurons)
        else:
            selection = Selection(spike_ids[t], spike_counts[t], dropped[t])
            seen = listed(spike_ids[t], spike_counts[t, :, 0], layer.neurons)
            unseen = may_be_dropped(selection, layer.neurons, layer.policy, here)
            spiking = seen | (unseen & spiking)
            dropped[t] = spiking.sum(axis=1) - spike_counts[t, :, 0]
        reset[t] = spiking if network.reset_on == "state" else seen
        v = after_reset(network.reset, u[t], reset[t], threshold[t])
        b = adaptation_after(constants, b, reset[t])
    phi = network.surrogate.phi(u - threshold)
    phi = np.take_along_axis(phi, spike_ids.astype(np.int64), axis=2)
    return LayerTrace(
        u=u,
        reset=reset,
        spike_ids=spike_ids,
        spike_counts=spike_counts,
        surrogate=np.where(filled(spike_ids, spike_counts[..., 1]), phi, 0),
        dropped=dropped,
    )


def run_readout(
    readout: LeakyReadout, weights: LayerWeights, ids: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Return the leaky readout's membrane `[time, batch, classes]`."""
    current = spike_matmul(weights.input, ids, counts)
    if weights.bias is not None:
        current += weights.bias
    constants = constants_of(readout)
    u = np.zeros(current.shape)
    i = v = np.zeros(current.shape[1:])
    for t in range(len(current)):
        i = synaptic_current(constants, i, current[t])
        v = u[t] = membrane(constants, v, i)
    return u


def synaptic_current(constants: Constants, i: np.ndarray, current: np.ndarray) -> np.ndarray:
    """Return i of this step from i of the step before."""
    decay = constants.synapse_decay
    return np.asarray(decay * i + (1 - decay) * current)


def membrane(constants: Constants, v: np.ndarray, i: np.ndarray) -> np.ndarray:
    """Return u of this step from v of the step before, after its reset, and i of this step."""
    return np.asarray(constants.decay * v + constants.scale * i)


def adaptation_after(constants: Constants, b: np.ndarray, flag: np.ndarray) -> np.ndarray:
    """Return b of the next step from that of this step and the reset flags."""
    return np.asarray(constants.adaptation_decay * b + flag)


def _second_threshold(layer: LIF, constants: Constants, b: np.ndarray) -> Optional[np.ndarray]:
    """Return the second threshold of a step, `[batch, neurons]`."""
    if layer.second_threshold is None:
        return None
    second = per_neuron(layer.second_threshold, layer.neurons, "second_threshold")
    return np.asarray(second + constants.adaptation_strength * b)


def after_reset(reset: str, u: np.ndarray, flag: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Return v of the next step."""
    if reset == "zero":
        return np.where(flag, 0, u)
    return u - threshold * flag if reset == "subtract" else u


def checked_slots(layer: LIF, shape: Tuple[int, ...], slots: Slots) -> Slots:
    """Return the slots of a layer as int32, with 0 in slots that are not filled.

    shape: [time, batch].
    Raises ValueError if a layer cannot have these slots.
    """
    spike_ids, spike_counts = slots
    check_shape("spike_ids", spike_ids, (*shape, layer.slots))
    check_shape("spike_counts", spike_counts, (*shape, 2))
    check_spikes(spike_ids, spike_counts[..., 1], layer.neurons)
    if not np.all((spike_counts[..., 0] >= 0) & (spike_counts[..., 0] <= spike_counts[..., 1])):
        raise ValueError("spike_counts must be (spikes, filled slots)")
    if sparse_to_dense(spike_ids, spike_counts[..., 1], layer.neurons).max(initial=0) > 1:
        raise ValueError("spike_ids must list a neuron at most once per step")
    in_use = filled(spike_ids, spike_counts[..., 1])
    return np.where(in_use, spike_ids, 0).astype(np.int32), spike_counts.astype(np.int32)
