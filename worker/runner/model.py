"""A spec's network as traced TensorFlow functions: learn from a batch, judge a batch."""

from __future__ import annotations

from typing import Any, Callable, List, NamedTuple, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ipulse.spec import ExperimentSpec
from ops.keras import MultiLIF

from .network import network_of
from .optimizer import Adam


class Judged(NamedTuple):
    """What a batch showed."""

    sums: np.ndarray  # float64, as Tally.sums
    predicted: np.ndarray  # int64 [batch]
    spikes_by_step: np.ndarray  # float64 [layers, time], summed over the batch


class Model:
    """The network with its weights and its optimizer.

    A batch is ids int32 `[time, batch, slots]`, counts int32 `[time, batch]`, labels int32
    `[batch]`, of any batch size. `threads`: that the kernels use.
    """

    def __init__(self, spec: ExperimentSpec, slots: int, threads: int) -> None:
        network = network_of(spec)
        self.net = MultiLIF(
            inputs=network.inputs,
            layers=network.layers,
            readout=network.readout,
            reset_gradient=network.reset_gradient,
            delay=network.delay,
            surrogate=network.surrogate,
            threads=threads,
            name="network",
        )
        self._kernels = [_variable(kernel) for kernel in self.net.kernels]
        self.optimizer = Adam(spec.training.optimizer, self._kernels)
        time = spec.data.steps
        batch = [
            tf.TensorSpec([time, None, slots], tf.int32),
            tf.TensorSpec([time, None], tf.int32),
            tf.TensorSpec([None], tf.int32),
        ]
        self._derive = _traced(self._derived, batch)
        self._judge = _traced(self._judged, batch)
        shapes = [tf.TensorSpec(kernel.shape, tf.float32) for kernel in self._kernels]
        step_and_rate = [tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.float32)]
        self._apply = _traced(self.optimizer.apply, [shapes, *step_and_rate])

    def trace(self) -> None:
        """Builds the graphs now instead of at the first call."""
        for function in (self._derive, self._judge, self._apply):
            function.get_concrete_function()

    def derive(
        self, ids: np.ndarray, counts: np.ndarray, labels: np.ndarray
    ) -> Tuple[List[tf.Tensor], np.ndarray]:
        """The gradients of the batch's mean loss, and the batch's sums as Tally has them."""
        gradients, sums = self._derive(ids, counts, labels)
        return gradients, sums.numpy()

    def apply(self, gradients: Sequence[tf.Tensor], step: int, rate: float) -> None:
        """Changes the weights; this is the `step`-th time, from 1, at that learning rate."""
        self._apply(list(gradients), tf.constant(step, tf.int64), tf.constant(rate, tf.float32))

    def judge(self, ids: np.ndarray, counts: np.ndarray, labels: np.ndarray) -> Judged:
        """How the network does on a batch; nothing is learned."""
        return Judged(*(tensor.numpy() for tensor in self._judge(ids, counts, labels)))

    @property
    def weights(self) -> List[np.ndarray]:
        """Float32 `[N_in, N_out]` of each layer and the readout."""
        return [kernel.numpy() for kernel in self._kernels]

    @weights.setter
    def weights(self, values: Sequence[np.ndarray]) -> None:
        for kernel, value in zip(self._kernels, values):
            kernel.assign(value)

    def _derived(self, ids: tf.Tensor, counts: tf.Tensor, labels: tf.Tensor) -> Tuple[Any, Any]:
        with tf.GradientTape() as tape:
            out = self.net(ids, counts)
            losses, right = _judgement(out.membrane, labels)
            loss = tf.reduce_mean(losses)
        return tape.gradient(loss, self._kernels), _sums(out, losses, right)

    def _judged(self, ids: tf.Tensor, counts: tf.Tensor, labels: tf.Tensor) -> Tuple[Any, ...]:
        out = self.net(ids, counts, training=False)
        losses, right = _judgement(out.membrane, labels)
        spikes = [tf.reduce_sum(tf.cast(c[:, :, 0], tf.float64), 1) for c in out.spike_counts]
        predicted = tf.argmax(_logits(out.membrane), axis=1)
        return _sums(out, losses, right), predicted, tf.stack(spikes)


def _traced(function: Callable[..., Any], signature: List[Any]) -> Any:
    """Without AutoGraph: there is no Python to translate, and looking for some takes longer than
    the rest of the tracing."""
    return tf.function(function, input_signature=signature, autograph=False)


def _variable(kernel: Any) -> tf.Variable:
    """Keras 3 wraps what Keras 2 hands out: the variable that fused ops can write to."""
    return kernel if isinstance(kernel, tf.Variable) else kernel.value


def _logits(membrane: tf.Tensor) -> tf.Tensor:
    """The readout's membrane `[time, batch, classes]`, its mean over time."""
    return tf.reduce_mean(membrane, axis=0)


def _judgement(membrane: tf.Tensor, labels: tf.Tensor) -> Tuple[tf.Tensor, tf.Tensor]:
    """Cross-entropy float32 `[batch]` and whether the largest logit is the label's."""
    logits = _logits(membrane)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return losses, tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), labels)


def _sums(out: Any, losses: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    """As Tally.sums. In double, in which counts of spikes are exact."""
    spikes = [_total(counts[:, :, 0]) for counts in out.spike_counts]
    slots = [_total(counts[:, :, 1]) for counts in out.spike_counts]
    dropped = [_total(layer) for layer in out.dropped]
    samples = tf.cast(tf.size(losses), tf.float64)
    return tf.stack([samples, _total(losses), _total(right), *spikes, *slots, *dropped])


def _total(values: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.cast(values, tf.float64))
