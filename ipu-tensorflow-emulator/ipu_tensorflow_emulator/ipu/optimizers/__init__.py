"""`ipu.optimizers`: wrappers of TensorFlow 1's optimizers."""

from __future__ import annotations

from typing import Any, Callable, List, Tuple

import tensorflow as tf

from ipu_tensorflow_emulator.gradient_accumulation import (
    Accumulation,
    GradientAccumulationReductionMethod,
)
from ipu_tensorflow_emulator.process import has_no_effect


class IpuOptimizer(tf.compat.v1.train.Optimizer):  # type: ignore[misc] # TensorFlow has no types
    """An optimizer that leaves the update to another one."""

    def __init__(self, opt: Any, name: str = "IpuOptimizer") -> None:
        """Wrap an optimizer."""
        super().__init__(False, name=name)
        self._opt = opt

    def compute_gradients(self, loss: Any, var_list: Any = None, **options: Any) -> Any:
        """Return gradients and variables."""
        return self._opt.compute_gradients(loss, var_list=var_list, **options)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """Return the operation that updates variables."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, *arguments: Any, **named: Any) -> Any:
        """Return a slot of the inner optimizer."""
        return self._opt.get_slot(*arguments, **named)

    def get_slot_names(self, *arguments: Any, **named: Any) -> Any:
        """Return the slots of the inner optimizer."""
        return self._opt.get_slot_names(*arguments, **named)

    def variables(self) -> Any:
        """Return the variables of the inner optimizer."""
        return self._opt.variables()


class CrossReplicaOptimizer(IpuOptimizer):
    """Averages gradients over replicas, of which one is emulated."""

    def __init__(self, opt: Any, name: str = "CrossReplicaOptimizer") -> None:
        """Wrap an optimizer."""
        super().__init__(opt, name)


class ShardedOptimizer(IpuOptimizer):
    """Keeps gradients on the IPU of their operation."""

    def __init__(self, optimizer: Any) -> None:
        """Wrap an optimizer."""
        super().__init__(optimizer, "ShardedOptimizer")


class MapGradientOptimizer(IpuOptimizer):
    """Applies a function to each gradient and variable."""

    def __init__(
        self,
        wrapped_optimizer: Any,
        gradient_mapping_function: Callable[[Any, Any], Any],
        name: str = "MapGradientOptimizer",
    ) -> None:
        """Wrap an optimizer."""
        super().__init__(wrapped_optimizer, name)
        self._function = gradient_mapping_function

    def compute_gradients(self, loss: Any, var_list: Any = None, **options: Any) -> Any:
        """Return mapped gradients and variables."""
        pairs = self._opt.compute_gradients(loss, var_list=var_list, **options)
        return [(self._function(gradient, variable), variable) for gradient, variable in pairs]


class GradientAccumulationOptimizerV2(IpuOptimizer):
    """Adds up the gradients of mini-batches, and applies the sum."""

    def __init__(
        self,
        opt: Any,
        num_mini_batches: int,
        offload_weight_update_variables: Any = None,
        replicated_optimizer_state_sharding: bool = False,
        dtype: Any = None,
        reduction_method: Any = GradientAccumulationReductionMethod.SUM,
        name: str = "GradientAccumulationOptimizerV2",
    ) -> None:
        """Wrap an optimizer. Raises ValueError for fewer than one mini-batch."""
        super().__init__(opt, name)
        if num_mini_batches < 1:
            raise ValueError(f"num_mini_batches must be at least 1; it is {num_mini_batches}")
        method = GradientAccumulationReductionMethod.parse(reduction_method)
        is_sum = method is GradientAccumulationReductionMethod.SUM
        self._accumulation = Accumulation(
            num_mini_batches, 1.0 if is_sum else 1.0 / num_mini_batches
        )

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """Return the operation that adds gradients up, or applies them."""

        def apply(pairs: List[Tuple[Any, Any]]) -> Any:
            return self._opt.apply_gradients(pairs, global_step, name)

        return tf.group(self._accumulation.add(list(grads_and_vars), apply))


class GradientAccumulationOptimizer(GradientAccumulationOptimizerV2):
    """Accumulates with optimizers of gradient descent."""


class CrossReplicaGradientAccumulationOptimizerV2(GradientAccumulationOptimizerV2):
    """Accumulates, and averages over replicas, of which one is emulated."""


class CrossReplicaGradientAccumulationOptimizer(GradientAccumulationOptimizerV2):
    """Accumulates, and averages over replicas, of which one is emulated."""


class AutomaticLossScalingOptimizer(IpuOptimizer):
    """Leaves the loss as it is: it is float32 on the host."""

    def __init__(self, opt: Any, *_: Any, **__: Any) -> None:
        """Wrap an optimizer."""
        super().__init__(opt, "AutomaticLossScalingOptimizer")
        has_no_effect("AutomaticLossScalingOptimizer")
