"""Sparse spikes: which neurons spiked, as ids and counts, instead of a one per spike.

`ids` int `[time, batch, slots]` holds the ids of the spiking neurons of a sample and step in its
first `counts[time, batch]` slots; what the slots behind them hold means nothing (0 here).
"""

from __future__ import annotations

from typing import Optional, Tuple

import numpy as np


def dense_to_sparse(
    dense: np.ndarray, capacity: Optional[int] = None
) -> Tuple[np.ndarray, np.ndarray]:
    """Ids int32 `[time, batch, slots]`, ascending, and counts int32 `[time, batch]` of the ones.

    dense: `[time, batch, neurons]` of zeros and ones, of any boolean or numeric dtype.
    capacity: number of slots; None takes the largest count, and at least one.

    Raises ValueError if a value is neither 0 nor 1, or a step has more spikes than `capacity`.
    """
    dense = np.asarray(dense)
    if dense.ndim != 3:
        raise ValueError(f"dense spikes must be [time, batch, neurons]; got shape {dense.shape}")
    spikes = dense == 1
    if not np.all(spikes | (dense == 0)):
        t, b, n = np.argwhere(~(spikes | (dense == 0)))[0]
        raise ValueError(f"dense spikes must be 0 or 1; dense[{t}, {b}, {n}] is {dense[t, b, n]}")
    counts = spikes.sum(axis=2, dtype=np.int32)
    needed = int(counts.max(initial=0))
    slots = max(needed, 1) if capacity is None else capacity
    if slots < 1:
        raise ValueError(f"capacity must be at least 1; got {slots}")
    if slots < needed:
        t, b = np.argwhere(counts == needed)[0]
        raise ValueError(
            f"capacity {slots} is too small: step {t} of sample {b} has {needed} spikes; "
            f"set capacity to at least {needed}"
        )
    ids = np.zeros((*counts.shape, slots), dtype=np.int32)
    # Both walk time, batch, then ascending neurons or slots, and every count is the same.
    ids[np.arange(slots) < counts[..., None]] = np.nonzero(spikes)[2]
    return ids, counts


def sparse_to_dense(ids: np.ndarray, counts: np.ndarray, neurons: int) -> np.ndarray:
    """How often each neuron's id is listed, float32 `[time, batch, neurons]`.

    An id listed twice counts twice, as it does in a layer's input current.

    Raises ValueError as `check_spikes` does.
    """
    check_spikes(ids, counts, neurons)
    shape = (*counts.shape, neurons)
    t, b, k = np.nonzero(np.arange(ids.shape[2]) < counts[..., None])
    places = np.ravel_multi_index((t, b, ids[t, b, k].astype(np.int64)), shape)
    times = np.bincount(places, minlength=counts.size * neurons)
    return times.reshape(shape).astype(np.float32)


def sparse_to_dense_gradient(
    ids: np.ndarray, counts: np.ndarray, grad_dense: np.ndarray
) -> np.ndarray:
    """A loss's gradient by the spikes in the slots, float64 `[time, batch, slots]`.

    counts: of the slots that gradient flows through, which is every filled one: gradient-only
        neurons too, although `sparse_to_dense` is told the spikes only.
    grad_dense: `[time, batch, neurons]`, the loss's derivative by the dense spikes.

    A slot takes the value at its id; 0 behind the counts. Raises ValueError as `check_spikes`.
    """
    check_spikes(ids, counts, grad_dense.shape[2])
    in_use = np.arange(ids.shape[2]) < counts[..., None]
    places = np.where(in_use, ids, 0).astype(np.int64)
    return np.where(in_use, np.take_along_axis(grad_dense, places, axis=2), 0.0)


def dense_to_sparse_gradient(
    ids: np.ndarray, counts: np.ndarray, neurons: int, grad_slots: np.ndarray
) -> np.ndarray:
    """A loss's gradient by the dense spikes, float64 `[time, batch, neurons]`.

    ids, counts: what `dense_to_sparse` gave.
    grad_slots: `[time, batch, slots]`, the loss's derivative by the spike in each slot; entries
        behind the counts are not read.

    A neuron takes the value of its slot; 0 where it has none, so that a neuron which did not
    spike gets no gradient. Raises ValueError as `check_spikes` does.
    """
    check_spikes(ids, counts, neurons)
    check_shape("grad_slots", grad_slots, ids.shape)
    grad = np.zeros((*counts.shape, neurons))
    t, b, k = np.nonzero(np.arange(ids.shape[2]) < counts[..., None])
    np.add.at(grad, (t, b, ids[t, b, k].astype(np.int64)), grad_slots[t, b, k])
    return grad


def check_spikes(ids: np.ndarray, counts: np.ndarray, neurons: int) -> None:
    """Raise ValueError, naming the first wrong place, unless these are spikes of `neurons` neurons.

    Integer ids `[time, batch, slots]` and counts `[time, batch]`; 0 <= counts <= slots; the ids
    in the counted slots are in 0 to neurons - 1. Their order and duplicates are not looked at.
    """
    for name, array, axes in (
        ("ids", ids, "[time, batch, slots]"),
        ("counts", counts, "[time, batch]"),
    ):
        if array.dtype.kind not in "iu":
            raise ValueError(f"{name} must be integers; got {array.dtype}")
        if array.ndim != axes.count(",") + 1:
            raise ValueError(f"{name} must be {axes}; got shape {array.shape}")
    if ids.shape[:2] != counts.shape:
        raise ValueError(
            f"ids and counts must share time and batch; got shapes {ids.shape} and {counts.shape}"
        )
    slots = ids.shape[2]
    wrong_counts = (counts < 0) | (counts > slots)
    if wrong_counts.any():
        t, b = np.argwhere(wrong_counts)[0]
        raise ValueError(f"counts[{t}, {b}] is {counts[t, b]}; it must be 0 to {slots}, the slots")
    wrong_ids = ((ids < 0) | (ids >= neurons)) & (np.arange(slots) < counts[..., None])
    if wrong_ids.any():
        t, b, k = np.argwhere(wrong_ids)[0]
        raise ValueError(f"ids[{t}, {b}, {k}] is {ids[t, b, k]}; it must be 0 to {neurons - 1}")


def check_shape(name: str, array: np.ndarray, shape: Tuple[int, ...]) -> None:
    """Raise ValueError unless the array has this shape."""
    if np.shape(array) != shape:
        raise ValueError(f"{name} must have shape {shape}; got {np.shape(array)}")
