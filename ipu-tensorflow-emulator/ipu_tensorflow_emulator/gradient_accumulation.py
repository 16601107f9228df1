"""Accumulates gradients over micro-batches before an optimizer applies them."""

from __future__ import annotations

from enum import Enum
from typing import Any, Callable, Dict, List, Optional, Tuple

import tensorflow as tf


class GradientAccumulationReductionMethod(Enum):
    """How gradients of micro-batches are combined. RUNNING_MEAN equals MEAN but for rounding."""

    SUM = 0
    MEAN = 1
    RUNNING_MEAN = 2

    @classmethod
    def parse(cls, method: Any) -> GradientAccumulationReductionMethod:
        """Return the method of a name or of a member. Raises ValueError for another one."""
        if isinstance(method, cls):
            return method
        name = str(method).upper()
        if name not in cls.__members__:
            known = ", ".join(member.lower() for member in cls.__members__)
            raise ValueError(f"{method!r} is no way to reduce gradients: choose one of {known}")
        return cls[name]


class Accumulation:
    """Adds gradients up and applies them with every k-th call.

    k: number of calls for one update. scale: factor of each gradient.
    """

    def __init__(self, k: int, scale: float) -> None:
        """Start without gradients."""
        self.k, self.scale = k, scale
        self._sums: Dict[int, Any] = {}
        self._calls: Any = None

    def add(
        self, pairs: List[Tuple[Any, Any]], apply: Callable[[List[Tuple[Any, Any]]], Any]
    ) -> Any:
        """Add gradients of variables; every k-th call, apply the sums and start again."""
        present = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        if self._calls is None:
            self._calls = zeros([], tf.int32)
        for _, variable in present:
            if id(variable) not in self._sums:
                self._sums[id(variable)] = zeros(variable.shape, variable.dtype)
        totals = [self._sums[id(variable)] for _, variable in present]
        values = []
        for total, (gradient, _) in zip(totals, present):
            dense = tf.cast(tf.convert_to_tensor(gradient), total.dtype)
            values.append(tf.identity(total.assign_add(dense * tf.cast(self.scale, total.dtype))))

        def update() -> Any:
            done = apply([(value, variable) for value, (_, variable) in zip(values, present)])
            with tf.control_dependencies([done] if isinstance(done, tf.Operation) else []):
                cleared = [total.assign(tf.zeros(total.shape, total.dtype)) for total in totals]
            with tf.control_dependencies(cleared):
                return tf.identity(tf.constant(True))

        calls = tf.identity(self._calls.assign_add(1))
        return tf.cond(tf.equal(calls % self.k, 0), update, lambda: tf.constant(False))


def accumulating(optimizer: Any, accumulation: Accumulation) -> Callable[..., Any]:
    """Return an `apply_gradients` of a Keras optimizer that adds up before it updates."""
    stock = optimizer.apply_gradients

    def apply_gradients(pairs: Any, *arguments: Any, **named: Any) -> Any:
        pairs = list(pairs)
        if hasattr(optimizer, "build") and not getattr(optimizer, "built", True):
            with tf.init_scope():  # Keras 3 cannot create its variables in a branch
                optimizer.build([variable for _, variable in pairs])
        return accumulation.add(pairs, lambda sums: stock(sums, *arguments, **named))

    return apply_gradients


def zeros(shape: Any, dtype: Any) -> Any:
    """Return a new variable that is not trained, as a resource in sessions too."""
    base = tf.as_dtype(dtype).base_dtype
    with tf.init_scope():
        if tf.executing_eagerly():
            return tf.Variable(tf.zeros(shape, base), trainable=False)
        graph = tf.compat.v1.get_default_graph()
        return tf.compat.v1.get_variable(
            graph.unique_name("accumulated"),
            shape,
            base,
            tf.compat.v1.zeros_initializer(),
            trainable=False,
            use_resource=True,
        )


def accumulation_of(
    k: int, replicas: int, method: GradientAccumulationReductionMethod
) -> Optional[Accumulation]:
    """Return what adds up k micro-batches of each replica; None if there is one micro-batch.

    Gradients of replicas are added, as Keras for the IPU does.
    """
    if k * replicas == 1:
        return None
    is_sum = method is GradientAccumulationReductionMethod.SUM
    return Accumulation(k * replicas, 1.0 if is_sum else 1.0 / k)
