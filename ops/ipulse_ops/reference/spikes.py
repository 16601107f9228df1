"""Sparse spikes: ids and counts instead of zeros and ones.

`ids` int `[time, batch, slots]` holds the ids of the neurons that spike in a sample and step in its
first `counts[time, batch]` slots. The values in later slots have no meaning (0 here).
"""

from __future__ import annotations

from typing import Optional, Sequence, Tuple

import numpy as np


def dense_to_sparse(
    dense: np.ndarray, capacity: Optional[int] = None
) -> Tuple[np.ndarray, np.ndarray]:
    """List the ones: ids int32 `[time, batch, slots]`, ascending, and counts int32 `[time, batch]`.

    dense: `[time, batch, neurons]` of zeros and ones, of any boolean or numeric dtype.
    capacity: number of slots; None uses the largest count, at least 1.

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
    # Both sides enumerate time, batch, then ascending neurons or slots, with equal counts.
    ids[np.arange(slots) < counts[..., None]] = np.nonzero(spikes)[2]
    return ids, counts


def added_spikes(spikes: Sequence[Tuple[np.ndarray, np.ndarray]]) -> Tuple[np.ndarray, np.ndarray]:
    """Return ids and counts of the spikes of several layers: their lists, one behind the other.

    spikes: ids `[time, batch, slots]` and counts `[time, batch]` of each layer. An id that several
        list is listed several times.
    """
    ids = np.concatenate([ids for ids, _ in spikes], axis=2)
    sent = [np.arange(ids.shape[2]) < counts[..., np.newaxis] for ids, counts in spikes]
    return compacted(ids, np.concatenate(sent, axis=2))


def compacted(ids: np.ndarray, stays: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Return ids and counts of the slots that stay, bool as ids, in their order."""
    order = np.argsort(~stays, axis=2, kind="stable")
    found = np.take_along_axis(np.where(stays, ids, 0), order, axis=2)
    return found, stays.sum(axis=2).astype(np.int32)


def sparse_to_dense(ids: np.ndarray, counts: np.ndarray, neurons: int) -> np.ndarray:
    """Count how often each neuron's id is listed: float32 `[time, batch, neurons]`.

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
    """Return a loss's gradient with respect to the slots, float64 `[time, batch, slots]`.

    counts: numbers of filled slots, including gradient-only neurons, which `sparse_to_dense` does
        not count.
    grad_dense: `[time, batch, neurons]`, the loss's derivative with respect to the dense spikes.

    A filled slot receives the value at its id, the others 0. Raises what `check_spikes` raises.
    """
    check_spikes(ids, counts, grad_dense.shape[2])
    in_use = np.arange(ids.shape[2]) < counts[..., None]
    places = np.where(in_use, ids, 0).astype(np.int64)
    return np.where(in_use, np.take_along_axis(grad_dense, places, axis=2), 0.0)


def dense_to_sparse_gradient(
    ids: np.ndarray, counts: np.ndarray, neurons: int, grad_slots: np.ndarray
) -> np.ndarray:
    """Return a loss's gradient with respect to the dense spikes, float64 `[time, batch, neurons]`.

    ids, counts: the results of `dense_to_sparse`.
    grad_slots: `[time, batch, slots]`, the loss's derivative with respect to the spike in each
        slot; entries after the counts are ignored.

    A neuron receives the value of its slot, or 0 if it did not spike. Raises what `check_spikes`
    raises.
    """
    check_spikes(ids, counts, neurons)
    check_shape("grad_slots", grad_slots, ids.shape)
    grad = np.zeros((*counts.shape, neurons))
    t, b, k = np.nonzero(np.arange(ids.shape[2]) < counts[..., None])
    np.add.at(grad, (t, b, ids[t, b, k].astype(np.int64)), grad_slots[t, b, k])
    return grad


def check_spikes(ids: np.ndarray, counts: np.ndarray, neurons: int) -> None:
    """Raise ValueError with the first wrong index unless these are spikes of `neurons` neurons.

    Valid are integer ids `[time, batch, slots]` and counts `[time, batch]` with
    0 <= counts <= slots and counted ids of 0 to neurons - 1, in any order and with duplicates.
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
