"""`ipu.ipu_infeed_queue`: a data set of known shapes, read ahead, inside of programs alone."""

from __future__ import annotations

from collections import deque
from typing import Any, Deque, List, Optional

import tensorflow as tf

from .state import STATE

PREFETCHED = 3  # elements that wait for the device unless prefetch_depth says otherwise


def check_settings(ordinal: Any, depth: Any, optimise_latency: Any) -> None:
    """Check the arguments of a queue of either kind; raise ValueError or TypeError."""
    for name, value, least in (("device_ordinal", ordinal, 0), ("depth", depth, 1)):
        if value is not None and (type(value) is not int or value < least):
            raise ValueError(f"{name} must be a whole number from {least} on; got {value!r}")
    if not isinstance(optimise_latency, bool):
        raise TypeError(f"optimise_latency is a bool; got {optimise_latency!r}")


class IPUInfeedQueue:
    def __init__(
        self,
        dataset: Any,
        device_ordinal: Optional[int] = None,
        prefetch_depth: Optional[int] = None,
        optimise_latency: bool = False,
    ) -> None:
        if not isinstance(dataset, tf.data.Dataset):
            raise TypeError(f"an infeed queue takes a data set; got {type(dataset).__name__}")
        for spec in tf.nest.flatten(dataset.element_spec):
            if not spec.shape.is_fully_defined():
                raise ValueError(f"an infeed queue needs static shapes; got {spec.shape}")
            if spec.dtype in (tf.float64, tf.string):
                raise ValueError(f"Unsupported data type for input/output: {spec.dtype.name}")
        check_settings(device_ordinal, prefetch_depth, optimise_latency)
        self._dataset = dataset
        self._ahead = PREFETCHED if prefetch_depth is None else prefetch_depth

    def __iter__(self) -> Any:
        if STATE.configured is None:
            raise RuntimeError("an infeed queue is initialised before IPUs are configured")
        return _InfeedIterator(self._dataset, self._ahead)


class _InfeedIterator:
    def __init__(self, dataset: Any, ahead: int) -> None:
        self._specs = dataset.element_spec
        self._iterator = iter(dataset)
        self._ahead = ahead
        self._read: Deque[Any] = deque()

    def __next__(self) -> Any:
        if STATE.trace is None:
            raise RuntimeError("an infeed queue is read by programs on the device alone")
        flat = tf.nest.flatten(self._specs)
        if STATE.trace.checks:
            tensors = [tf.zeros(spec.shape, spec.dtype) for spec in flat]
        else:
            tensors = tf.numpy_function(self._next, [], [spec.dtype for spec in flat])
            for tensor, spec in zip(tensors, flat):
                tensor.set_shape(spec.shape)
        return tf.nest.pack_sequence_as(self._specs, tensors)

    def _next(self) -> List[Any]:
        while len(self._read) <= self._ahead:
            self._read.append(next(self._iterator))
        return [tensor.numpy() for tensor in tf.nest.flatten(self._read.popleft())]
