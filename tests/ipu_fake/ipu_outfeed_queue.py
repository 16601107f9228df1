"""`ipu.ipu_outfeed_queue`: what a program hands out, stacked, once it has run."""

from __future__ import annotations

from enum import Enum
from typing import Any, List, Optional, Tuple

import numpy as np
import tensorflow as tf

from .ipu_infeed_queue import check_settings
from .state import STATE

IPUOutfeedMode = Enum("IPUOutfeedMode", ["ALL", "LAST"])


class IPUOutfeedQueue:
    def __init__(
        self,
        outfeed_mode: Optional[Any] = None,
        device_ordinal: Optional[int] = None,
        buffer_depth: int = 3,
        optimise_latency: bool = False,
    ) -> None:
        self._mode = IPUOutfeedMode.ALL if outfeed_mode is None else outfeed_mode
        if not isinstance(self._mode, IPUOutfeedMode):
            raise ValueError(f"Invalid outfeed mode: {outfeed_mode!r}")
        check_settings(device_ordinal, buffer_depth, optimise_latency)
        self._structure: Any = None
        self._rows: List[Tuple[np.ndarray, ...]] = []
        self._sink = tf.Variable(0.0, trainable=False)  # what XLA is to compile must be used

    def enqueue(self, tensors: Any) -> Any:
        """Once in a program."""
        if STATE.trace is None:
            raise RuntimeError("an outfeed queue is written by programs on the device alone")
        if self in STATE.trace.outfeeds:
            raise ValueError("an outfeed queue can be enqueued only once in a program")
        STATE.trace.outfeeds.append(self)
        self._structure = tensors
        flat = [tf.convert_to_tensor(tensor) for tensor in tf.nest.flatten(tensors)]
        for tensor in flat:
            if tensor.dtype == tf.float64:
                raise TypeError("Unsupported data type for input/output: float64")
        if STATE.trace.checks:
            sums = [tf.reduce_sum(tf.cast(tensor, tf.float32)) for tensor in flat]
            return self._sink.assign_add(tf.add_n(sums))
        return tf.numpy_function(self._append, flat, tf.bool)

    def dequeue(self, wait_for_completion: bool = False) -> Any:
        """Stacked tensors, in the structure that enqueue was given."""
        rows, self._rows = self._rows, []
        if not rows:
            raise RuntimeError("no program has enqueued anything: this would be empty tensors")
        if self._mode is IPUOutfeedMode.LAST:
            tensors = [tf.constant(value) for value in rows[-1]]
        else:
            tensors = [tf.stack(column) for column in zip(*rows)]
        return tf.nest.pack_sequence_as(self._structure, tensors)

    def _append(self, *values: np.ndarray) -> np.bool_:
        self._rows.append(tuple(np.array(value) for value in values))
        return np.bool_(True)
