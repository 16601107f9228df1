"""Packs a cell's inputs and outputs into one tensor each, and lists dense spikes by their ids."""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple

import tensorflow as tf

from ipulse_ops.sparse import dense_to_sparse


def pack_spikes(ids: Any, counts: Any) -> Any:
    """Concatenate spikes, filled slots and ids to float32 `[..., slots + 2]`.

    ids: `[..., slots]`; float32 ids receive a gradient.
    counts: `[...]`; or `[..., 2]`, spikes and filled slots.

    Raises ValueError if the shapes do not match.
    """
    ids, counts = tf.cast(ids, tf.float32), tf.cast(counts, tf.float32)
    if ids.shape.rank is not None and counts.shape.rank is not None:
        leading = ids.shape[:-1]
        if not any(
            counts.shape.is_compatible_with(shape) for shape in (leading, leading.concatenate(2))
        ):
            raise ValueError(
                f"counts must have the shape of ids without its slots, {tuple(leading)}, or that "
                f"and an axis of 2; got {tuple(counts.shape)}"
            )
    if counts.shape.rank < ids.shape.rank:
        counts = tf.stack([counts, counts], axis=-1)
    return tf.concat([counts, ids], axis=-1)


def binary(spikes: Any) -> Any:
    """Return the spikes; using them raises InvalidArgumentError unless each is 0 or 1."""
    # A sum of floats is vectorised; a conjunction of comparisons takes several times as long.
    wrong = tf.reduce_sum(tf.abs(spikes * (spikes - 1)))
    return _asserted(wrong == 0, "dense spikes must be 0 or 1", spikes)


def not_dense(packed: Any) -> Any:
    """Return packed spikes; using them raises InvalidArgumentError if they look dense.

    Dense spikes are zeros and ones, with ones after the slots that the first two values declare as
    filled. In packed spikes those slots are 0.
    """
    slots = packed.shape[-1] - 2
    behind = tf.range(slots, dtype=tf.float32) >= packed[:, 1:2]
    misplaced = tf.reduce_any(behind & (packed[:, 2:] == 1)) | tf.reduce_any(
        packed[:, 0] > packed[:, 1]
    )
    dense = misplaced & tf.reduce_all((packed == 0) | (packed == 1))
    message = (
        "spikes must be ids and counts, as pack_spikes packs them; got zeros and ones for each "
        "channel: pack them by "
        "pack_spikes(*ipulse_ops.sparse.dense_to_sparse(spikes, capacity))"
    )
    return _asserted(~dense, message, packed)


def _asserted(condition: Any, message: str, tensor: Any) -> Any:
    with tf.control_dependencies([tf.debugging.Assert(condition, [message])]):
        return tf.identity(tensor)


def parts(packed: Any, sizes: Sequence[int]) -> List[Any]:
    """Split the last axis of a packed tensor into sizes.

    A size of 0 stands for one value without an axis of its own.

    Raises ValueError if the axis does not have the sum of the sizes.
    """
    packed, expected = tf.convert_to_tensor(packed), sum(max(size, 1) for size in sizes)
    if packed.shape[-1] not in (None, expected):
        raise ValueError(
            f"packed outputs must have {expected} values in their last axis; got shape "
            f"{tuple(packed.shape)}"
        )
    pieces = tf.split(packed, [max(size, 1) for size in sizes], axis=-1)
    return [piece if size else piece[..., 0] for piece, size in zip(pieces, sizes)]


def listed_spikes(dense: Any, inputs: int, backend: str) -> Tuple[Any, Any]:
    """Convert dense spikes of so many inputs to ids and counts for a back end."""
    dense = tf.convert_to_tensor(dense)
    if dense.shape.rank != 3 or dense.shape[2] not in (None, inputs):
        raise ValueError(
            f"dense spikes must be three axes, of which the last has {inputs} channels; got "
            f"shape {tuple(dense.shape)}. Spikes as ids need their counts, too"
        )
    if dense.shape[2] is None:  # while tracing
        message = f"dense spikes must have {inputs} channels"
        tf.debugging.assert_equal(tf.shape(dense)[2], inputs, message)
    if backend == "numpy":
        return listed_without_a_compiler(dense)
    ids, counts = dense_to_sparse(dense, capacity=inputs)
    return ids, counts


def listed_without_a_compiler(dense: Any) -> Tuple[Any, Any]:
    """Convert dense spikes to ids and counts in TensorFlow's own ops, with a slot per channel."""
    if not (dense.dtype.is_floating or dense.dtype.is_integer or dense.dtype.is_bool):
        raise ValueError(f"dense spikes must be numbers; got {dense.dtype.name}")

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def listed(spikes: Any) -> Any:
        ids = tf.cast(tf.argsort(1 - binary(spikes), axis=-1, stable=True), tf.float32)
        slot = tf.cast(tf.maximum(tf.cumsum(spikes, axis=-1) - 1, 0), tf.int32)

        def gradient(grad_ids: Any, _: Any) -> Any:
            return tf.gather(grad_ids, slot, batch_dims=2) * spikes

        return (ids, tf.reduce_sum(spikes, axis=-1)), gradient

    ids, counts = listed(tf.cast(dense, tf.float32))
    return ids, counts
