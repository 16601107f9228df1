"""`ipu.ipu_infeed_queue`: a data set that programs read."""

from __future__ import annotations

from typing import Any, List, Optional

import tensorflow as tf

from ipu_tensorflow_emulator.process import STATE, has_no_effect
from ipu_tensorflow_emulator.tensorflow_setup import without_autograph

_NO_TYPES = (tf.float64, tf.string)


def check_settings(device_ordinal: Any, depth: Any, maximum: Optional[int] = None) -> None:
    """Check arguments that queues of both kinds have. Raises ValueError."""
    if type(device_ordinal) is not int or device_ordinal < 0:
        raise ValueError(f"Device ordinal must be a whole number >= 0; it is {device_ordinal!r}")
    if depth is not None:
        if type(depth) is not int or depth < 1 or (maximum and depth > maximum):
            most = f" to {maximum}" if maximum else " on"
            raise ValueError(f"The depth of a queue must be a whole number from 1{most}: {depth!r}")
        has_no_effect("prefetch_depth and buffer_depth of queues")


def check_elements(dataset: Any) -> None:
    """Raise ValueError unless every element has a static shape and a type that IPUs have."""
    for spec in tf.nest.flatten(tf.compat.v1.data.get_output_shapes(dataset)):
        if not spec.is_fully_defined():
            raise ValueError(
                f"The data set has an element of shape {spec}, which is not fully defined. "
                "Programs for the IPU need static shapes: use batch(..., drop_remainder=True)"
            )
    for dtype in tf.nest.flatten(tf.compat.v1.data.get_output_types(dataset)):
        if dtype in _NO_TYPES:
            raise ValueError(
                f"Unsupported data type for input/output: {dtype.name}. Cast the elements in the "
                "data set"
            )


class IPUInfeedQueue:
    """A queue from a data set into programs."""

    def __init__(
        self,
        dataset: Any,
        feed_name: Any = None,
        device_ordinal: int = 0,
        prefetch_depth: Optional[int] = None,
        optimise_latency: bool = False,
        **older: Any,
    ) -> None:
        """Check the data set.

        feed_name: of older SDKs; without effect.
        """
        if feed_name is not None and not isinstance(feed_name, str):  # device_ordinal by position
            device_ordinal = feed_name
        for name in older:
            if name not in ("replication_factor", "data_to_prefetch"):
                raise TypeError(f"IPUInfeedQueue has no argument {name!r}")
            has_no_effect(f"IPUInfeedQueue({name}=)")
        self._structure = tf.compat.v1.data.get_output_shapes(dataset)
        check_elements(dataset)
        check_settings(device_ordinal, prefetch_depth, 255)
        self._dataset = dataset
        self._initialised = False
        self._iterators: List[Any] = []  # which live as long as the queue
        self._iterator: Any = None
        if not tf.executing_eagerly() and not tf.inside_function():
            self._iterator = tf.compat.v1.data.make_initializable_iterator(dataset)

    @property
    def number_of_tuple_elements(self) -> int:
        """Return the number of tensors of an element."""
        return len(tf.nest.flatten(self._structure))

    @property
    def initializer(self) -> Any:
        """Return the operation that starts the queue. Raises RuntimeError for a second reading."""
        if self._iterator is None:
            return tf.no_op()
        if self._initialised:
            raise RuntimeError(
                "The IPUInfeedQueue is already initialized. Read `initializer` once and keep it"
            )
        self._initialised = True
        return self._iterator.initializer

    @property
    def deleter(self) -> Any:
        """Return an operation that stops the queue."""
        return tf.no_op()

    def __iter__(self) -> Any:
        """Return an iterator for functions that a strategy runs."""
        self._iterators.append(iter(self._dataset))
        return self._iterators[-1]

    @without_autograph
    def dequeue(self) -> Any:
        """Return the next element, in a program. Raises RuntimeError elsewhere."""
        if not STATE.depth:
            raise RuntimeError("An IPUInfeedQueue is read in programs on the IPU only")
        if self._iterator is not None:
            return self._iterator.get_next()
        if not self._iterators:
            with tf.init_scope():
                iter(self)
        return next(self._iterators[-1])

    _dequeue = dequeue
