"""Checks of the data that a Keras model gets, as Keras for the IPU makes them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

import tensorflow as tf

from ipu_tensorflow_emulator.activation import say

DEFAULT_BATCH = 32


class Plan(NamedTuple):
    """The data that an execution reads.

    x: the data, float64 replaced by float32. steps: batches of an epoch, of all replicas.
    steps_per_execution: batches of one execution, of all replicas. dropped: batches that are
        left out, because there is not one for each replica.
    """

    x: Any
    steps: int
    steps_per_execution: int
    is_dataset: bool
    dropped: int


def plan(
    x: Any,
    batch_size: Optional[int],
    steps: Optional[int],
    epochs: int,
    steps_per_execution: Optional[int],
    replicas: int,
    validation_split: float = 0.0,
) -> Plan:
    """Check data and return what an execution reads; without steps, that of an epoch.

    Raises ValueError for data that IPUs cannot have.
    """
    if inspect.isgenerator(x) or isinstance(x, Iterator) or _is_sequence(x):
        raise ValueError(
            f"the shapes of a {type(x).__name__} are not known before it runs, as programs for the "
            "IPU need: use tf.data.Dataset.from_generator() with shapes"
        )
    is_dataset = isinstance(x, tf.data.Dataset)
    if is_dataset:
        x = _without_float64(x)
        size: Optional[int] = int(tf.data.experimental.cardinality(x))
        if size is not None and size < 0:
            size = None
        found = size if steps is None else steps
    else:
        size, found = _arrays(x, batch_size, steps, validation_split), steps
        found = size if found is None else found
    if found is None:
        raise ValueError(
            "the data set does not say how many batches it has: pass steps_per_epoch to fit(), or "
            "steps"
        )
    if is_dataset:
        _check_shapes(x)
        if size is not None:
            # Without a number of steps each epoch begins the data set again.
            needed = found if steps is None else found * epochs
            if needed > size:
                raise ValueError(
                    f"the data set has {size} batches and {needed} are needed: add repeat() to it"
                )
    each = found // replicas
    if found % replicas and size is not None:
        say(
            f"{found} batches are distributed to {replicas} replicas, and {found % replicas} are "
            "dropped"
        )
    if each == 0:
        raise ValueError(
            f"The data has {found} batches, fewer than there are replicas ({replicas})"
        )
    per_execution = each if steps_per_execution is None else steps_per_execution
    if per_execution > each:
        say(
            f"`steps_per_execution` is {per_execution} and a replica gets {each} batches; "
            f"{each} is used"
        )
        per_execution = each
    if each % per_execution:
        raise ValueError(
            f"`steps_per_execution` ({per_execution}) must be a divisor of the number of batches "
            f"({each}) of an epoch" + (" of a replica" if replicas > 1 else "")
        )
    return Plan(x, each * replicas, per_execution * replicas, is_dataset, found % replicas)


def _is_sequence(x: Any) -> bool:
    names = {base.__name__ for base in type(x).__mro__}
    return bool(names & {"PyDataset"}) or ("Sequence" in names and hasattr(x, "on_epoch_end"))


def _check_shapes(dataset: Any) -> None:
    for spec in tf.nest.flatten(dataset.element_spec):
        if not spec.shape.is_fully_defined():
            raise ValueError(
                f"the data set has batches of the shape {spec.shape}, and programs for the IPU "
                "need static shapes: use batch(..., drop_remainder=True)"
            )


def _without_float64(dataset: Any) -> Any:
    if all(spec.dtype != tf.float64 for spec in tf.nest.flatten(dataset.element_spec)):
        return dataset

    def narrowed(*elements: Any) -> Any:
        found = tf.nest.map_structure(
            lambda each: tf.cast(each, tf.float32) if each.dtype == tf.float64 else each, elements
        )
        return found if len(found) > 1 else found[0]

    return dataset.map(narrowed)


def _arrays(
    x: Any, batch_size: Optional[int], steps: Optional[int], validation_split: float
) -> Optional[int]:
    first = tf.nest.flatten(x)[0]
    if not hasattr(first, "__len__") and not hasattr(first, "shape"):
        return None
    count = int(first.shape[0]) if hasattr(first, "shape") else len(first)
    if validation_split:
        count = int(count * (1.0 - validation_split))
    if batch_size is None and steps is not None:
        batch_size = -(-count // steps)
    size = batch_size or DEFAULT_BATCH
    if count % size:
        raise ValueError(
            f"{count} samples in batches of {size} leave a partial batch: change batch_size, or "
            "leave out or pad samples"
        )
    return count // size
