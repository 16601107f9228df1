"""Optimizers with accessible state for checkpoints.

Keras optimizers compute the same, but Keras 2 and 3 store their state differently.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Union

import tensorflow as tf

from ipulse_ops.training.adam import apply_adam
from ipulse_ops.training.ordered_sums import exact_total
from ipulse_ops.unsupported import in_xla

if TYPE_CHECKING:
    from ipulse import spec

Variables = List[tf.Variable]


class Optimizer(ABC):
    """Updates float32 weights by their gradients.

    `slots` is the state by name: one variable per weight, of its shape and initially zero.
    factors: of each weight's learning rate; None for 1.
    """

    names: Sequence[str] = ()  # of the slots

    def __init__(
        self, weights: Sequence[tf.Variable], factors: Optional[Sequence[float]] = None
    ) -> None:
        self.weights: Variables = list(weights)
        self.factors = [1.0] * len(self.weights) if factors is None else list(factors)
        self.slots: Dict[str, Variables] = {
            name: [tf.Variable(tf.zeros_like(w), trainable=False) for w in weights]
            for name in self.names
        }

    @abstractmethod
    def apply(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        """Update the weights.

        Args:
            gradients: one per weight.
            step: integer scalar, the number of the update from 1.
            rate: float32 scalar, the learning rate.
        """


class Adam(Optimizer):
    """Adam and AdamW with the fused op of ipulse_ops.training.adam.

    Weight decay applies to matrices only, not to biases and constants.
    """

    names = ("means", "squares")

    def __init__(
        self,
        settings: Union[spec.AdamSpec, spec.AdamWSpec],
        weights: Sequence[tf.Variable],
        threads: int = 0,
        factors: Optional[Sequence[float]] = None,
    ) -> None:
        super().__init__(weights, factors)
        self._settings = settings
        self._threads = threads

    def apply(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        """Update the weights, see Optimizer.apply."""
        settings = self._settings
        decay = settings.weight_decay if settings.kind == "adamw" else 0.0
        kinds = [
            (len(weight.shape) != 2, factor) for weight, factor in zip(self.weights, self.factors)
        ]
        for kind in sorted(set(kinds)):  # matrices first
            chosen = [at for at, each in enumerate(kinds) if each == kind]
            is_vector, factor = kind
            apply_adam(
                weights=[self.weights[at] for at in chosen],
                means=[self.slots["means"][at] for at in chosen],
                squares=[self.slots["squares"][at] for at in chosen],
                gradients=[gradients[at] for at in chosen],
                update=step,
                rate=_scaled(rate, factor),
                beta_1=settings.beta_1,
                beta_2=settings.beta_2,
                epsilon=settings.epsilon,
                weight_decay=0.0 if is_vector else decay,
                threads=self._threads,
            )


class SGD(Optimizer):
    """Stochastic gradient descent.

    Without momentum w -= rate g. With momentum a = momentum a + g and w -= rate a, or with Nesterov
    momentum w -= rate (g + momentum a). One op each for products and sums: TensorFlow's fused
    kernels round by its release and the CPU.
    """

    def __init__(
        self,
        settings: spec.SGDSpec,
        weights: Sequence[tf.Variable],
        factors: Optional[Sequence[float]] = None,
    ) -> None:
        self.names = ("momenta",) if settings.momentum else ()
        super().__init__(weights, factors)
        self._settings = settings

    def apply(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        """Update the weights, see Optimizer.apply."""
        for at, (weight, gradient) in enumerate(zip(self.weights, gradients)):
            direction = gradient
            momentum = self._settings.momentum
            if momentum:
                accumulated = self.slots["momenta"][at]
                direction = momentum * accumulated + gradient
                accumulated.assign(direction)
                if self._settings.nesterov:
                    direction = gradient + momentum * direction
            weight.assign_sub(_scaled(rate, self.factors[at]) * direction)


def _scaled(rate: tf.Tensor, factor: float) -> tf.Tensor:
    return rate if factor == 1 else rate * factor


def optimizer_of(
    settings: spec.Optimizer,
    weights: Sequence[tf.Variable],
    threads: int,
    factors: Optional[Sequence[float]] = None,
) -> Optimizer:
    """Return the optimizer of a spec."""
    if settings.kind == "sgd":
        return SGD(settings, weights, factors)
    return Adam(settings, weights, threads, factors)


def clipped(gradients: List[tf.Tensor], bounds: spec.GradientClipping) -> List[tf.Tensor]:
    """Clip the gradients by value and then by their global norm."""
    if bounds.value is not None:
        gradients = [tf.clip_by_value(g, -bounds.value, bounds.value) for g in gradients]
    if bounds.global_norm is not None and in_xla():
        gradients, _ = tf.clip_by_global_norm(gradients, bounds.global_norm)
    elif bounds.global_norm is not None:
        norm = tf.sqrt(sum(exact_total(gradient, squares=True) for gradient in gradients))
        # Not below 1, so that a norm that is not finite makes the gradients so, too.
        excess = tf.maximum(norm * (1 / bounds.global_norm), 1.0)
        share = tf.cast(1.0 / excess, tf.float32)
        gradients = [gradient * share for gradient in gradients]
    return list(gradients)
