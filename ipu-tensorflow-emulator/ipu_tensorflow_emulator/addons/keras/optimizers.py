"""Optimizers with the arguments of Graphcore's, computed by those of Keras."""

from __future__ import annotations

import re
from typing import Any, List, Optional

import tensorflow as tf

from ipu_tensorflow_emulator.gradient_accumulation import (
    Accumulation,
    GradientAccumulationReductionMethod,
    accumulating,
)
from ipu_tensorflow_emulator.process import has_no_effect

_DTYPES = ("m_dtype", "v_dtype", "vhat_dtype", "momentum_accum_dtype", "rms_dtype")
_MORE = ("optimizer_compute_precisions", "accum_dtype", "outline_apply_gradients")
_SCALES_LOSSES = "_ipu_scales_losses"


def _accepted(optimizer: str, named: Any) -> Any:
    for name in (*_DTYPES, *_MORE, "outline_apply_gradients_kwargs"):
        if named.pop(name, None) is not None:
            has_no_effect(f"{optimizer}({name}=)")
    return named


class AdamIpuOptimizer(tf.keras.optimizers.Adam):  # type: ignore[misc] # TensorFlow has no types
    """Adam."""

    def __init__(self, *arguments: Any, debiasing: bool = True, **named: Any) -> None:
        """Create the optimizer; types of its state have no effect."""
        super().__init__(*arguments, **_accepted(type(self).__name__, named))
        self.debiasing = debiasing

    def get_config(self) -> Any:
        """Return the arguments."""
        return {**super().get_config(), "debiasing": self.debiasing}

    def _step(self, name: str, variable: Any, mean: Any, spread: Any) -> Any:
        """Return the change of a variable for a learning rate of 1, from both moments."""
        return mean / (tf.sqrt(spread) + self.epsilon)

    def _is_adam(self) -> bool:
        """Return whether Keras's own update does the same."""
        return bool(self.debiasing)

    def _assign(
        self, name: str, variable: Any, gradient: Any, moments: Any, rate: Any
    ) -> List[Any]:
        """Update a variable and its moments."""
        if isinstance(gradient, tf.IndexedSlices):
            raise NotImplementedError(
                f"{type(self).__name__} takes no sparse gradients, as {name} has: use "
                "AdamIpuOptimizer with debiasing, or tf.convert_to_tensor(gradient)"
            )
        dtype = variable.dtype
        gradient, rate = tf.cast(gradient, dtype), tf.cast(tf.convert_to_tensor(rate), dtype)
        steps, hats, assigned = tf.cast(tf.convert_to_tensor(self.iterations) + 1, dtype), [], []
        for moment, beta, value in zip(
            moments, (self.beta_1, self.beta_2), (gradient, tf.square(gradient))
        ):
            beta = tf.cast(tf.convert_to_tensor(beta), dtype)
            value = beta * tf.convert_to_tensor(moment) + (1 - beta) * value
            hats.append(value / (1 - tf.pow(beta, steps)) if self.debiasing else value)
            assigned.append(moment.assign(value))
        step = self._step(name, tf.convert_to_tensor(variable), *hats)
        return [*assigned, variable.assign_sub(rate * step)]

    # Keras 2.6 calls the next two methods, newer ones the third.

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        if self._is_adam():
            return super()._resource_apply_dense(grad, var, apply_state)
        moments = (self.get_slot(var, "m"), self.get_slot(var, "v"))
        rate = self._decayed_lr(var.dtype.base_dtype)
        return tf.group(*self._assign(var.name, var, grad, moments, rate))

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        if self._is_adam():
            return super()._resource_apply_sparse(grad, var, indices, apply_state)
        return self._assign(var.name, var, tf.IndexedSlices(grad, indices), (), 0.0)

    def update_step(self, gradient: Any, variable: Any, *learning_rate: Any) -> None:
        """Update a variable; Keras 3 passes the learning rate."""
        if self._is_adam():
            super().update_step(gradient, variable, *learning_rate)
            return
        if hasattr(self, "_get_variable_index"):  # Keras 3
            at = self._get_variable_index(variable)
            known = self._trainable_variables[at]
            name = getattr(known, "path", known.name)
        else:
            at, name = self._index_dict[self._var_key(variable)], variable.name
        (rate,) = learning_rate or (self.learning_rate,)
        self._assign(name, variable, gradient, (self._momentums[at], self._velocities[at]), rate)


class LAMBIpuOptimizer(AdamIpuOptimizer):
    """LAMB of You et al. (2020): Adam with a step as long as the weights, for each variable.

    A step is rate x ratio x (m / (sqrt(v) + epsilon) + weight_decay_rate x weights), where ratio is
    the norm of the weights divided by that of the term in brackets; it is 1 where one of them is 0.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-6,
        weight_decay_rate: float = 0.0,
        exclude_from_weight_decay: Optional[List[str]] = None,
        exclude_from_layer_adaptation: Optional[List[str]] = None,
        name: str = "LAMB",
        debiasing: bool = True,
        m_dtype: Any = None,
        v_dtype: Any = None,
        weight_norm_clip: Optional[float] = None,
        **named: Any,
    ) -> None:
        """Create the optimizer; types of its state have no effect.

        exclude_from_weight_decay, exclude_from_layer_adaptation: regular expressions that names of
            variables contain. weight_norm_clip: upper limit of the norm of weights.
        """
        rate = named.pop("lr", learning_rate)
        named.pop("amsgrad", None)  # of the configuration of Adam
        named.update(m_dtype=m_dtype, v_dtype=v_dtype)
        super().__init__(rate, beta_1, beta_2, epsilon, name=name, debiasing=debiasing, **named)
        self.weight_decay_rate, self.weight_norm_clip = weight_decay_rate, weight_norm_clip
        self.exclude_from_weight_decay = exclude_from_weight_decay
        self.exclude_from_layer_adaptation = exclude_from_layer_adaptation

    def get_config(self) -> Any:
        """Return the arguments."""
        names = [
            *("weight_decay_rate", "weight_norm_clip"),
            *("exclude_from_weight_decay", "exclude_from_layer_adaptation"),
        ]
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}

    def _is_adam(self) -> bool:
        return False

    def _step(self, name: str, variable: Any, mean: Any, spread: Any) -> Any:
        step = super()._step(name, variable, mean, spread)
        if not _is_excluded(name, self.exclude_from_weight_decay):
            step += self.weight_decay_rate * variable
        if _is_excluded(name, self.exclude_from_layer_adaptation):
            return step
        length, of_step = tf.norm(variable), tf.norm(step)
        if self.weight_norm_clip is not None:
            length = tf.minimum(length, tf.cast(self.weight_norm_clip, length.dtype))
        has_both = tf.logical_and(length > 0, of_step > 0)
        return step * tf.compat.v2.where(has_both, length / of_step, tf.ones_like(length))


def _is_excluded(name: str, patterns: Optional[List[str]]) -> bool:
    return any(re.search(pattern, re.sub(r":\d+$", "", name)) for pattern in patterns or ())


LAMB = LAMBIpuOptimizer


class SGDIpuOptimizer(tf.keras.optimizers.SGD):  # type: ignore[misc] # TensorFlow has no types
    """Gradient descent."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Create the optimizer; types of its state have no effect."""
        super().__init__(*arguments, **_accepted("SGDIpuOptimizer", named))


class RMSpropIpuOptimizer(tf.keras.optimizers.RMSprop):  # type: ignore[misc] # TensorFlow has no types
    """RMSprop."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Create the optimizer; types of its state have no effect."""
        super().__init__(*arguments, **_accepted("RMSpropIpuOptimizer", named))


def ALSOptimizer(optimizer: Any, **named: Any) -> Any:
    """Return the optimizer: losses need no scale in float32, so that its factor stays 1."""
    has_no_effect("ALSOptimizer (losses are not scaled)")
    optimizer.__dict__.update(
        {_SCALES_LOSSES: True, "loss_scaling_factor": 1.0, "get_scaled_loss": lambda loss: loss}
    )
    if not hasattr(optimizer, "get_gradients"):  # newer Keras has none
        optimizer.__dict__["get_gradients"] = tf.gradients
    return optimizer


def GradientAccumulationOptimizer(
    opt: Any,
    num_mini_batches: int,
    offload_weight_update_variables: Any = None,
    replicated_optimizer_state_sharding: bool = False,
    dtype: Any = None,
    reduction_method: Any = GradientAccumulationReductionMethod.SUM,
    name: str = "GradientAccumulationOptimizer",
) -> Any:
    """Return the optimizer, which from now on adds gradients up and updates every k-th time.

    Raises ValueError for fewer than one mini-batch.
    """
    if num_mini_batches < 1:
        raise ValueError(f"num_mini_batches must be at least 1; it is {num_mini_batches}")
    method = GradientAccumulationReductionMethod.parse(reduction_method)
    is_sum = method is GradientAccumulationReductionMethod.SUM
    if num_mini_batches > 1:
        scale = 1.0 if is_sum else 1.0 / num_mini_batches
        accumulation = Accumulation(num_mini_batches, scale)
        opt.__dict__["apply_gradients"] = accumulating(opt, accumulation)  # untracked by Keras
    return opt


def ALSGradientAccumulationOptimizer(
    als_optimizer: Any, num_mini_batches: int, *arguments: Any, **named: Any
) -> Any:
    """Return the optimizer of an ALSOptimizer, which from now on accumulates gradients.

    Raises ValueError for another optimizer, and for fewer than one mini-batch.
    """
    if _SCALES_LOSSES not in als_optimizer.__dict__:
        raise ValueError(
            "ALSGradientAccumulationOptimizer takes an ALSOptimizer; it got a "
            f"{type(als_optimizer).__name__}"
        )
    return GradientAccumulationOptimizer(als_optimizer, num_mini_batches, *arguments, **named)
