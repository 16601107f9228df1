"""Optimizers with their state where a checkpoint can reach it.

A Keras optimizer would do the same sums, but Keras 2 and 3 keep their slots differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence, Union

import tensorflow as tf

from ipulse_ops.training.adam import apply_adam

if TYPE_CHECKING:
    from ipulse import spec

Variables = List[tf.Variable]


class Optimizer:
    """Changes float32 weights by their gradients. `slots`: its state by name, one variable for
    each weight and of its shape, zeros before the first update."""

    names: Sequence[str] = ()  # of the slots

    def __init__(self, weights: Sequence[tf.Variable]) -> None:
        self.weights: Variables = list(weights)
        self.slots: Dict[str, Variables] = {
            name: [tf.Variable(tf.zeros_like(w), trainable=False) for w in weights]
            for name in self.names
        }

    def apply(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        """`step` is an integer scalar: this is the step-th update, from 1; `rate` is a float32
        scalar."""
        raise NotImplementedError


class Adam(Optimizer):
    """Adam and AdamW, by ipulse_ops.training.adam; only matrices decay, for a bias or a constant
    near 0 is not
    simpler than one away from it."""

    names = ("means", "squares")

    def __init__(
        self,
        settings: Union[spec.Adam, spec.AdamW],
        weights: Sequence[tf.Variable],
        threads: int = 0,
    ) -> None:
        super().__init__(weights)
        self._settings = settings
        self._threads = threads

    def apply(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        settings = self._settings
        decay = settings.weight_decay if settings.kind == "adamw" else 0.0
        matrix = [len(weight.shape) == 2 for weight in self.weights]
        for decays in (True, False):
            chosen = [at for at, is_matrix in enumerate(matrix) if is_matrix == decays]
            if not chosen:
                continue
            apply_adam(
                weights=[self.weights[at] for at in chosen],
                means=[self.slots["means"][at] for at in chosen],
                squares=[self.slots["squares"][at] for at in chosen],
                gradients=[gradients[at] for at in chosen],
                update=step,
                rate=rate,
                beta_1=settings.beta_1,
                beta_2=settings.beta_2,
                epsilon=settings.epsilon,
                weight_decay=decay if decays else 0.0,
                threads=self._threads,
            )


class SGD(Optimizer):
    """w -= rate g without momentum. With it, a = momentum a + g and w -= rate a, or of Nesterov
    w -= rate (g + momentum a); by TensorFlow's own kernels."""

    def __init__(self, settings: spec.SGD, weights: Sequence[tf.Variable]) -> None:
        self.names = ("momenta",) if settings.momentum else ()
        super().__init__(weights)
        self._settings = settings

    def apply(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        for at, (weight, gradient) in enumerate(zip(self.weights, gradients)):
            if not self._settings.momentum:
                tf.raw_ops.ResourceApplyGradientDescent(
                    var=weight.handle, alpha=rate, delta=gradient
                )
                continue
            tf.raw_ops.ResourceApplyMomentum(
                var=weight.handle,
                accum=self.slots["momenta"][at].handle,
                lr=rate,
                grad=gradient,
                momentum=self._settings.momentum,
                use_nesterov=self._settings.nesterov,
            )


def optimizer_of(
    settings: spec.Optimizer, weights: Sequence[tf.Variable], threads: int
) -> Optimizer:
    """The optimizer that a spec describes."""
    if settings.kind == "sgd":
        return SGD(settings, weights)
    return Adam(settings, weights, threads)


def clipped(gradients: List[tf.Tensor], bounds: spec.GradientClipping) -> List[tf.Tensor]:
    """The gradients within their bounds, by value first and then by their common norm."""
    if bounds.value is not None:
        gradients = [tf.clip_by_value(g, -bounds.value, bounds.value) for g in gradients]
    if bounds.global_norm is not None:
        gradients, _ = tf.clip_by_global_norm(gradients, bounds.global_norm)
    return list(gradients)
