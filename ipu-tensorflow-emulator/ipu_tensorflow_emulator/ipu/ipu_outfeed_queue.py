"""`ipu.ipu_outfeed_queue`: tensors that programs return while they run."""

from __future__ import annotations

import weakref
from collections import deque
from enum import Enum
from typing import Any, Deque, Iterator, List, Optional, Tuple

import numpy as np
import tensorflow as tf

from ipu_tensorflow_emulator.ipu.ipu_infeed_queue import check_settings
from ipu_tensorflow_emulator.outfeed_metrics import OutfeedMetrics
from ipu_tensorflow_emulator.process import STATE, has_no_effect, unsupported_dtype
from ipu_tensorflow_emulator.tensorflow_setup import without_autograph

_Row = Tuple[np.ndarray, ...]


class IPUOutfeedMode(Enum):
    """The elements that a queue keeps: all of them or the last one."""

    ALL = "all"
    LAST = "get_last"


class IPUOutfeedQueue:
    """A queue from programs to the host."""

    def __init__(
        self,
        feed_name: Any = None,
        outfeed_mode: Any = None,
        device_ordinal: int = 0,
        buffer_depth: int = 1,
        optimise_latency: bool = False,
        **older: Any,
    ) -> None:
        """Create an empty queue.

        feed_name: of older SDKs; without effect.
        """
        if isinstance(feed_name, IPUOutfeedMode):  # newer SDKs have the mode in this position
            feed_name, outfeed_mode = None, feed_name
        for name in older:
            if name not in ("replication_factor", "io_batch_size", "outfeed_all"):
                raise TypeError(f"IPUOutfeedQueue has no argument {name!r}")
            has_no_effect(f"IPUOutfeedQueue({name}=)")
        if older.get("outfeed_all") is False:
            outfeed_mode = IPUOutfeedMode.LAST
        self._mode = IPUOutfeedMode.ALL if outfeed_mode is None else outfeed_mode
        if not isinstance(self._mode, IPUOutfeedMode):
            raise ValueError(f"outfeed_mode must be an IPUOutfeedMode; it is {outfeed_mode!r}")
        check_settings(device_ordinal, None if buffer_depth == 1 else buffer_depth)
        self._graphs: weakref.WeakSet[Any] = weakref.WeakSet()
        self._structure: Any = None
        self._specs: List[Any] = []
        self._rows: Deque[_Row] = deque()
        self._count = 0  # elements that were enqueued
        self._metrics: Optional[OutfeedMetrics] = None

    @property
    def enqueued(self) -> bool:
        """Return whether an enqueue operation was built."""
        return self._structure is not None

    @property
    def deleter(self) -> Any:
        """Return an operation that stops the queue."""
        return tf.no_op()

    @without_autograph
    def enqueue(self, tensors: Any) -> Any:
        """Return the operation that adds an element.

        Raises ValueError for a second one in a graph, RuntimeError outside of programs and
        TypeError for float64.
        """
        if not STATE.depth:
            raise RuntimeError(
                "An IPUOutfeedQueue is written by programs on the IPU only: enqueue in the scope "
                "of an IPUStrategy or in ipu_scope"
            )
        graph = tf.compat.v1.get_default_graph()
        if graph in self._graphs:
            raise ValueError(
                "An outfeed can only be enqueued once in a program. Use one IPUOutfeedQueue for "
                "each enqueue, or enqueue a tuple or a dict of tensors"
            )
        flat = [tf.convert_to_tensor(tensor) for tensor in tf.nest.flatten(tensors)]
        if not flat:
            raise ValueError("There are no tensors to enqueue")
        unsupported_dtype(flat)
        if not tf.executing_eagerly():
            self._graphs.add(graph)
        # Of the shapes alone: a tensor here would keep its graph alive.
        self._structure = tf.nest.map_structure(lambda _: 0, tensors)
        if self._metrics is None:
            self._metrics = OutfeedMetrics(self._structure)
        self._specs = [(tensor.dtype, tensor.shape) for tensor in flat]
        return tf.numpy_function(self._append, flat, [])

    @without_autograph
    def dequeue(self, wait_for_completion: bool = False) -> Any:
        """Return what was enqueued since the last call.

        In mode ALL tensors have a first dimension for the elements; in mode LAST they are those of
        the last element. Raises ValueError if no enqueue operation was built.
        """
        if not self.enqueued:
            raise ValueError(
                "The IPUOutfeedQueue has no enqueue operation yet: build dequeue() after the "
                "program that enqueues"
            )
        dtypes = [dtype for dtype, _ in self._specs]
        if tf.executing_eagerly():
            flat = [tf.convert_to_tensor(value) for value in self._take()]
        else:
            flat = list(_listed(tf.numpy_function(self._take, [], dtypes)))
            for tensor, (_, shape) in zip(flat, self._specs):
                tensor.set_shape(shape if self._is_last() else [None, *shape.as_list()])
        return tf.nest.pack_sequence_as(self._structure, flat)

    def __iter__(self) -> Iterator[Any]:
        """Return the elements one after the other, those that are enqueued meanwhile too."""
        while self._rows:
            row = self._rows.popleft()
            self._show([row])
            flat = [tf.convert_to_tensor(value) for value in row]
            yield tf.nest.pack_sequence_as(self._structure, flat)

    def _is_last(self) -> bool:
        return self._mode is IPUOutfeedMode.LAST

    def _append(self, *values: np.ndarray) -> List[Any]:
        if self._is_last():
            self._rows.clear()
        self._rows.append(tuple(np.array(value) for value in values))
        self._count += 1
        return []

    def _take(self) -> List[np.ndarray]:
        rows = list(self._rows)
        self._rows.clear()
        self._show(rows)
        empty = [_empty(dtype, shape) for dtype, shape in self._specs]
        if self._is_last():
            return list(rows[-1]) if rows else empty
        return [np.stack(column) for column in zip(*rows)] if rows else empty

    def _show(self, rows: List[_Row]) -> None:
        if self._metrics is not None:
            self._metrics.show(rows, self._count - len(self._rows))


def _empty(dtype: Any, shape: Any) -> np.ndarray:
    return np.zeros([0, *(shape.as_list() if shape.rank is not None else [])], dtype.as_numpy_dtype)


def _listed(tensors: Any) -> Any:
    return tensors if isinstance(tensors, (list, tuple)) else [tensors]
