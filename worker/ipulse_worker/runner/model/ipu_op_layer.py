"""A custom op as a layer in a program for IPUs."""

from __future__ import annotations

from typing import Any, List, Tuple

import tensorflow as tf

from ipulse_ops.lif.poplar.sdk import precompiled_user_op
from ipulse_worker.runner.model.op_layer import OpLayer


class IPUOpLayer(OpLayer):
    """An OpLayer of which all runs on the IPU.

    TensorFlow loads the op's library into this process. Values of the op that are no spikes cannot
    end the program there: `not_spikes` of the last call is then NaN, else 0.
    """

    not_spikes: Any = None

    def _run(self, ids: Any, counts: Any, seed: Any) -> Tuple[Any, Any, Any]:
        op = self._ops.user_op(self._index)
        weights = [tf.convert_to_tensor(kernel) for kernel in self.kernels]
        entering = [dense_on_device(ids, counts, self._senders), *weights]
        (output,) = precompiled_user_op()(
            entering,
            op.library_path,
            gp_path=op.gp_path,
            outs={
                "output_types": [tf.float32],
                "output_shapes": [tf.TensorShape([*ids.shape[:2], self._neurons])],
            },
            name=f"layer_{self._index + 1}",
            op_name=op.op_name,
            inputs_with_gradients=list(op.inputs_with_gradients),
            attributes=op.attributes,
            gradient_attributes=op.gradient_attributes,
        )
        for index, tensor in enumerate(entering):
            if index not in op.inputs_with_gradients:  # its gradient is 0 and not missing
                output += 0.0 * tf.reduce_sum(tensor)
        is_spikes = tf.reduce_all((output == 0.0) | (output == 1.0))
        self.not_spikes = tf.where(is_spikes, 0.0, float("nan"))
        made, sent = listed_on_device(output)
        return made, sent, tf.zeros_like(sent[..., 0])


def dense_on_device(ids: Any, counts: Any, senders: int) -> Any:
    """Return spikes `[steps, batch, senders]` of 0 and 1; filled slots get their gradient.

    ids: float32 `[steps, batch, slots]`. counts: float32 `[steps, batch, 2]`: spikes, filled slots.
    """
    steps, batch, slots = ids.shape.as_list()
    size = steps * batch * senders
    places = _places(tf.cast(ids, tf.int32), senders)
    slot = tf.range(slots, dtype=tf.int32)
    is_sent, is_filled = (slot < tf.cast(counts[..., n : n + 1], tf.int32) for n in (0, 1))

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def spread(ids: Any) -> Any:
        values = tf.reshape(tf.cast(is_sent, tf.float32), [-1])
        flat = tf.scatter_nd(tf.reshape(places, [-1, 1]), values, [size])

        def gradient(by_dense: Any) -> Any:
            taken = tf.gather(tf.reshape(by_dense, [-1]), places)
            return tf.where(is_filled, taken, tf.zeros_like(taken))

        return tf.reshape(flat, [steps, batch, senders]), gradient

    return spread(ids)


def listed_on_device(dense: Any) -> Tuple[Any, Any]:
    """Return ids `[steps, batch, neurons]`, those that spike first, and counts, in float32."""
    steps, batch, neurons = dense.shape.as_list()

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def order(dense: Any) -> Any:
        silent = tf.cast(dense < 0.5, tf.int32)
        # Distinct keys: a device need not sort equal ones in order.
        keys = silent * neurons + tf.range(neurons, dtype=tf.int32)
        ordered = -tf.math.top_k(-keys, k=neurons).values
        ids = tf.where(ordered >= neurons, ordered - neurons, ordered)
        sent = tf.cast(tf.reduce_sum(1 - silent, axis=-1), tf.float32)
        counts = tf.stack([sent, tf.fill(tf.shape(sent), float(neurons))], axis=-1)

        def gradient(by_ids: Any, by_counts: Any) -> Any:
            places = tf.reshape(_places(ids, neurons), [-1, 1])
            flat = tf.scatter_nd(places, tf.reshape(by_ids, [-1]), [steps * batch * neurons])
            return tf.reshape(flat, [steps, batch, neurons])

        return (tf.cast(ids, tf.float32), counts), gradient

    made: List[Any] = list(order(dense))
    return made[0], made[1]


def _places(ids: Any, neurons: int) -> Any:
    """Return the places of ids `[steps, batch, slots]` in a flat `[steps, batch, neurons]`."""
    steps, batch, _ = ids.shape.as_list()
    first = tf.range(0, steps * batch * neurons, neurons, dtype=tf.int32)
    return tf.reshape(first, [steps, batch, 1]) + ids
