"""Optimizers of TensorFlow's own ops, which XLA compiles for a device with the rest of a step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Sequence, Union

import numpy as np
import tensorflow as tf

from ipulse_worker.runner.model.optimizer import SGD, Adam

if TYPE_CHECKING:
    from ipulse import spec


class DeviceAdam(Adam):
    """The equations of ops/ipulse_ops/lif/cpu/bindings/adam.h. The correction of the bias is the
    host's, in double."""

    def rates(self, step: int, rate: float) -> np.ndarray:
        """float32 `[2]`: the rate, by which weights decay, and that of the update, corrected."""
        settings = self._settings
        correction = math.sqrt(1 - settings.beta_2**step) / (1 - settings.beta_1**step)
        return np.array([rate, rate * correction], np.float32)

    def apply(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        """rate: of `rates`, which has seen the step."""
        settings = self._settings
        slots = zip(self.weights, self.slots["means"], self.slots["squares"], gradients)
        for weight, mean, square, gradient in slots:
            if settings.kind == "adamw" and len(weight.shape) == 2:
                weight.assign_sub(rate[0] * settings.weight_decay * weight)
            tf.raw_ops.ResourceApplyAdam(
                var=weight.handle,
                m=mean.handle,
                v=square.handle,
                beta1_power=0.0,  # the correction is in the rate
                beta2_power=0.0,
                lr=rate[1],
                beta1=settings.beta_1,
                beta2=settings.beta_2,
                epsilon=settings.epsilon,
                grad=gradient,
            )


class DeviceSGD(SGD):
    """SGD, by the ops that every device has."""

    def rates(self, step: int, rate: float) -> np.ndarray:
        """float32 `[2]`: the rate, twice."""
        return np.array([rate, rate], np.float32)

    def apply(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        super().apply(gradients, step, rate[0])


DeviceOptimizer = Union[DeviceAdam, DeviceSGD]


def device_optimizer_of(
    settings: spec.Optimizer, weights: Sequence[tf.Variable]
) -> DeviceOptimizer:
    """The optimizer that a spec describes."""
    if settings.kind == "sgd":
        return DeviceSGD(settings, weights)
    return DeviceAdam(settings, weights)
