"""Choice of the neurons that fill the slots of a sample and step, and its gradient.

Spiking neurons (`u > threshold`) come first, then gradient-only neurons
(`second_threshold < u <= threshold`), up to the capacity. The policy is the order of choice within
each group:

    index   by ascending id
    cyclic  by ascending id from an offset on, past the last id to the first
    top     by descending membrane, equal ones by ascending id

Under any policy the slots hold the chosen spiking neurons by ascending id, then the chosen
gradient-only neurons by ascending id, so that sums over slots have one order everywhere.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple, Union

import numpy as np

from ipulse_ops.philox import CYCLIC_OFFSET, below, key_of, philox4x32
from ipulse_ops.surrogate import Surrogate
from ipulse_ops.validation import choice

POLICIES = ("index", "cyclic", "top")

Threshold = Union[float, np.ndarray]  # one number or [neurons]


class Selection(NamedTuple):
    """The neurons in slots."""

    spike_ids: np.ndarray  # int32 [..., slots]: spiking, then gradient-only, then zeros
    spike_counts: np.ndarray  # int32 [..., 2]: spikes, spikes and gradient-only neurons
    # int32 [...]: spikes beyond the capacity. Gradient-only neurons without a slot are not counted.
    dropped: np.ndarray


def select_spikes(
    u: np.ndarray,
    threshold: Threshold,
    second_threshold: Optional[Threshold] = None,
    capacity: Optional[int] = None,
    policy: str = "index",
    offsets: Optional[np.ndarray] = None,
) -> Selection:
    """Choose the neurons of membranes `u [..., neurons]` that fill `capacity` slots.

    second_threshold: None makes all neurons that do not spike gradient-only.
    capacity: None for one slot per neuron.
    offsets: int `[...]`, 0 to neurons - 1, for the policy "cyclic" and for no other.

    Raises ValueError if the capacity is not 1 to neurons, a second threshold is above its
    threshold, or the offsets do not fit the policy.
    """
    neurons = u.shape[-1]
    slots = neurons if capacity is None else capacity
    if not 1 <= slots <= neurons:
        raise ValueError(f"capacity must be 1 to {neurons}; got {slots}")
    if second_threshold is not None and np.any(np.asarray(second_threshold) > threshold):
        raise ValueError("second_threshold must not be above threshold")
    spiking = u > threshold
    gradient = np.full(u.shape, True) if second_threshold is None else u > second_threshold
    rank = np.where(spiking, 0, np.where(gradient, 1, 2))
    order = np.argsort(_scan(u, policy, offsets), axis=-1, kind="stable")
    order = np.take_along_axis(
        order, np.argsort(np.take_along_axis(rank, order, axis=-1), axis=-1, kind="stable"), axis=-1
    )
    wanted = np.stack([spiking.sum(axis=-1), gradient.sum(axis=-1)], axis=-1)
    counts = np.minimum(wanted, slots)
    ids = order[..., :slots]
    group = (np.arange(slots) >= counts[..., :1]).astype(np.int64)
    group += np.arange(slots) >= counts[..., 1:]
    ids = np.sort(ids + group * neurons, axis=-1)
    return Selection(
        spike_ids=np.where(ids < 2 * neurons, ids % neurons, 0).astype(np.int32),
        spike_counts=counts.astype(np.int32),
        dropped=(wanted[..., 0] - counts[..., 0]).astype(np.int32),
    )


def select_spikes_gradients(
    u: np.ndarray,
    threshold: Threshold,
    selection: Selection,
    surrogate: Surrogate,
    grad_slots: np.ndarray,
) -> Tuple[np.ndarray, np.ndarray]:
    """Return a loss's gradient with respect to `u [..., neurons]` and the thresholds `[neurons]`.

    grad_slots: `[..., slots]`, dL/ds of the neuron in each slot; entries after the last filled slot
        are ignored.

    No spike depends on the second threshold, so that its gradient is zero.
    """
    place = np.nonzero(filled(selection.spike_ids, selection.spike_counts[..., 1]))
    neuron = (*place[:-1], selection.spike_ids[place].astype(np.int64))
    grad_u = np.zeros(u.shape)
    # A neuron has at most one slot, so that assignment suffices.
    grad_u[neuron] = surrogate.phi(u - threshold)[neuron] * grad_slots[place]
    return grad_u, -grad_u.reshape(-1, u.shape[-1]).sum(axis=0)


def cyclic_offsets(seed: int, layer: int, steps: int, batch: int, neurons: int) -> np.ndarray:
    """Return the first ids of the policy "cyclic", int64 `[steps, batch]`, 0 to neurons - 1.

    An offset is the high word of `word * neurons`, where word is the first word of philox4x32 at
    the counter (step, layer, sample, CYCLIC_OFFSET) with the seed's low and high word as key.

    Raises ValueError unless the seed is from 0 to 2^64 - 1.
    """
    step, sample = np.ogrid[:steps, :batch]
    words = philox4x32((step, layer, sample, CYCLIC_OFFSET), key_of(seed))
    return below(words[..., 0], neurons)


def may_be_dropped(
    selection: Selection, neurons: int, policy: str, offsets: Optional[np.ndarray] = None
) -> np.ndarray:
    """Return the neurons that may have spiked without a slot, bool `[..., neurons]`.

    If spikes fill all slots, any neuron that is later in the policy's order may have spiked.
    """
    ids, counts = selection.spike_ids, selection.spike_counts[..., 0]
    full = counts[..., None] == ids.shape[-1]
    if policy == "top":
        return np.asarray(full & ~listed(ids, counts, neurons))
    place = _scan(np.zeros((*counts.shape, neurons)), policy, offsets)
    last = np.take_along_axis(place, ids.astype(np.int64), axis=-1).max(axis=-1)
    return np.asarray(full & (place > last[..., None]))


def listed(ids: np.ndarray, counts: np.ndarray, neurons: int) -> np.ndarray:
    """Return the neurons in the first `counts [...]` slots of the ids, bool `[..., neurons]`."""
    place = np.nonzero(filled(ids, counts))
    found = np.zeros((*counts.shape, neurons), dtype=bool)
    found[(*place[:-1], ids[place].astype(np.int64))] = True
    return found


def filled(ids: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return a mask `[..., slots]` of the first `counts [...]` slots."""
    return np.asarray(np.arange(ids.shape[-1]) < counts[..., None])


def _scan(u: np.ndarray, policy: str, offsets: Optional[np.ndarray]) -> np.ndarray:
    """Return the sort key of the policy, `[..., neurons]`; equal keys are sorted by id."""
    choice("policy", policy, POLICIES)
    if (policy == "cyclic") != (offsets is not None):
        raise ValueError('the policy "cyclic" requires offsets; other policies take none')
    if policy == "top":
        return -u
    neurons = u.shape[-1]
    ids = np.broadcast_to(np.arange(neurons), u.shape)
    if offsets is None:
        return ids
    if offsets.shape != u.shape[:-1]:
        raise ValueError(f"offsets must have shape {u.shape[:-1]}; got {offsets.shape}")
    return np.asarray((ids - offsets[..., None]) % neurons)
