"""Optimizers from TensorFlow's own ops, which XLA can compile for a device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Sequence, Union

import numpy as np
import tensorflow as tf

from ipulse_worker.runner.model.optimizer import SGD, Adam

if TYPE_CHECKING:
    from ipulse import spec


class DeviceAdam(Adam):
    """Adam with the equations of the CPU kernel; the host computes the bias correction."""

    def rates(self, step: int, rate: float) -> np.ndarray:
        """Return the rate of the weight decay and of the corrected update, float32 `[2]`."""
        settings = self._settings
        correction = math.sqrt(1 - settings.beta_2**step) / (1 - settings.beta_1**step)
        return np.array([rate, rate * correction], np.float32)

    def apply(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        """Update the weights; `rate` is the result of `rates`."""
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
    """SGD from ops that every device supports."""

    def rates(self, step: int, rate: float) -> np.ndarray:
        """Return the rate twice, float32 `[2]`."""
        return np.array([rate, rate], np.float32)

    def apply(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        """Update the weights; `rate` is the result of `rates`."""
        super().apply(gradients, step, rate[0])


DeviceOptimizer = Union[DeviceAdam, DeviceSGD]


def device_optimizer_of(
    settings: spec.Optimizer, weights: Sequence[tf.Variable]
) -> DeviceOptimizer:
    """Return the optimizer of a spec."""
    if settings.kind == "sgd":
        return DeviceSGD(settings, weights)
    return DeviceAdam(settings, weights)
