"""A custom op as a layer in TensorFlow's graph."""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.op_manifest.weights import OpWeight
from ipulse_ops.keras.equations_neurons import NeuronSpikes, by_neurons, chosen_slots
from ipulse_ops.reference.spikes import sparse_to_dense
from ipulse_ops.sparse.seed import word64
from ipulse_worker.runner.user_code.ops.ops import CustomOps


class OpLayer(tf.keras.layers.Layer):  # type: ignore[misc] # TensorFlow has no types
    """Runs layer `index` of a network, from 0, on spikes of the layer before.

    `kernels` are the weights of the op's own. A call takes ids `[steps, batch, slots]` and counts
    `[steps, batch]`, or `[steps, batch, 2]` with the filled slots, and returns NeuronSpikes with
    `capacity` slots, or one for every neuron: those that did not spike carry gradient, too.
    `policy`, "index" or "cyclic", and `seed` are those of ipulse_ops.reference.select_spikes; a
    call may have another seed.
    """

    def __init__(
        self,
        ops: CustomOps,
        index: int,
        senders: int,
        neurons: int,
        capacity: Optional[int] = None,
        policy: str = "index",
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self.capacity, self.policy, self.seed = capacity, policy, seed
        self._ops, self._index = ops, index
        self._senders, self._neurons = senders, neurons
        self.kernels = tuple(  # a list would be wrapped by Keras
            self.add_weight(
                name=weight.name,
                dtype="float32",
                shape=shape,
                initializer="zeros",
                trainable=True,
                constraint=_limited(weight),
            )
            for weight, shape in ops.weights_of(index)
        )
        for kernel, (weight, _) in zip(self.kernels, ops.weights_of(index)):
            # An attribute, because Keras 3 does not find variables in tuples.
            setattr(self, f"_op_weight_{weight.name}", kernel)
        self.built = True  # it has its variables already

    def set_kernels(self, arrays: Sequence[np.ndarray]) -> None:
        """Set the weights, in the order of `kernels`."""
        for kernel, array in zip(self.kernels, arrays):
            kernel.assign(array)

    def match_deviations(self) -> None:
        """Do nothing: the weights of an op are not standardised."""

    @property
    def second_thresholds(self) -> List[None]:
        """None: all neurons carry gradient."""
        return [None]

    def run(
        self, ids: Any, counts: Any, training: Any = None, factor: float = 1.0, seed: Any = None
    ) -> NeuronSpikes:
        """Return the spikes of the op; `factor` is for layers with weights."""
        return self.call(ids, counts, seed)

    def call(self, ids: Any, counts: Any, seed: Any = None) -> NeuronSpikes:
        """Return the spikes of the op."""
        counts = tf.cast(counts, tf.float32)
        if counts.shape.rank == 2:
            counts = tf.stack([counts, counts], axis=-1)
        drawn = self.seed if seed is None else seed
        return NeuronSpikes(*self._run(tf.cast(ids, tf.float32), counts, drawn))

    def _run(self, ids: Any, counts: Any, seed: Any) -> Tuple[Any, Any, Any]:
        @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
        def apply(ids: Any, counts: Any, *weights: Any) -> Tuple[Any, Any]:
            types = [tf.float32] * 5
            entering = [word64(seed), ids, counts, *weights]
            arrays = tf.numpy_function(self._forward, entering, types)
            made, sent, dropped, spikes, output = arrays
            made.set_shape([*ids.shape[:2], self.capacity or self._neurons])
            sent.set_shape([*ids.shape[:2], 2])
            dropped.set_shape(ids.shape[:2])

            def gradient(by_made: Any, *_: Any) -> List[Any]:
                packed = [by_made, made, sent, spikes, output, ids, counts, *weights]
                kinds = [tf.float32] * (1 + len(weights))
                by_ids, *by_weights = tf.numpy_function(self._backward, packed, kinds)
                by_ids.set_shape(ids.shape)
                for each, weight in zip(by_weights, weights):
                    each.set_shape(weight.shape)
                return [by_ids, None, *by_weights]

            return (made, sent, dropped), gradient

        weights = [tf.convert_to_tensor(kernel) for kernel in self.kernels]
        made: Tuple[Any, Any, Any] = apply(ids, counts, *weights)
        return made

    def _forward(
        self, seed: np.ndarray, ids: np.ndarray, counts: np.ndarray, *weights: np.ndarray
    ) -> List[np.ndarray]:
        """Return ids and counts of spikes, those without a slot, and the op's input and output."""
        whole_ids, sent = ids.astype(np.int32), counts[..., 0].astype(np.int32)
        spikes = sparse_to_dense(whole_ids, sent, self._senders)
        output = self._ops.forward(self._index, spikes, weights)
        if self.capacity is None:
            made, sent = listed(output)
            return [made, sent, np.zeros(sent.shape[:2], np.float32), spikes, output]
        chosen = chosen_slots(output - np.float32(0.5), self.capacity, self.policy, int(seed))
        return [*(array.astype(np.float32) for array in chosen), spikes, output]

    def _backward(
        self,
        by_made: np.ndarray,
        made: np.ndarray,
        sent: np.ndarray,
        spikes: np.ndarray,
        output: np.ndarray,
        ids: np.ndarray,
        counts: np.ndarray,
        *weights: np.ndarray,
    ) -> List[np.ndarray]:
        """Return the gradients of the filled slots of `ids`, and of the weights."""
        by_output = by_neurons(by_made, made, sent, self._neurons)
        by_spikes, *by_weights = self._ops.backward(self._index, by_output, spikes, weights, output)
        is_filled = np.arange(ids.shape[-1]) < counts[..., 1:]
        at = np.where(is_filled, ids, 0).astype(np.int32)
        taken = np.take_along_axis(by_spikes, at, axis=-1)
        return [np.where(is_filled, taken, np.float32(0)), *by_weights]


def _limited(weight: OpWeight) -> Optional[Callable[[Any], Any]]:
    """Return the constraint of a weight with bounds."""
    low, high = weight.minimum, weight.maximum
    if low is None and high is None:
        return None
    return lambda value: tf.clip_by_value(
        value, -np.inf if low is None else low, np.inf if high is None else high
    )


def listed(dense: np.ndarray) -> List[np.ndarray]:
    """Return ids `[steps, batch, neurons]`, those that spike first, and counts, in float32."""
    silent = (dense == 0).astype(np.uint8)
    ids = np.argsort(silent, axis=-1, kind="stable").astype(np.float32)
    sent = dense.sum(axis=-1, dtype=np.float32)
    return [ids, np.stack([sent, np.full_like(sent, dense.shape[-1])], axis=-1)]
