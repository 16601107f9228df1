"""`ipu.pipelining_ops`: stages of a program, which run in turn on the host."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any, Callable, Dict, List, Optional

import tensorflow as tf

from ipu_tensorflow_emulator.gradient_accumulation import (
    GradientAccumulationReductionMethod,
    zeros,
)
from ipu_tensorflow_emulator.ipu import loops
from ipu_tensorflow_emulator.ipu.ipu_outfeed_queue import IPUOutfeedMode
from ipu_tensorflow_emulator.keras_models.stages import check_depth
from ipu_tensorflow_emulator.process import STATE, has_no_effect
from ipu_tensorflow_emulator.tensorflow_setup import without_autograph


class PipelineSchedule(IntEnum):
    """How stages overlap on IPUs; values do not depend on it."""

    Grouped = 0
    Interleaved = 1
    Sequential = 2


class RecomputationMode(Enum):
    """Which activations are computed again; without effect."""

    Auto = 0
    RecomputeThenBackpropagate = 1
    RecomputeAndBackpropagateInterleaved = 2


class OptimizerFunctionOutput:
    """The optimizer and the loss of a pipeline."""

    def __init__(
        self,
        opt: Any,
        loss: Any,
        compute_gradients_args: Any = None,
        compute_gradients_kwargs: Any = None,
        apply_gradients_args: Any = None,
        apply_gradients_kwargs: Any = None,
        variables: Any = None,
        tape: Any = None,
        gradient_capture_context: Any = None,
        captured_gradient_outfeed: Any = None,
    ) -> None:
        """Store them. Raises TypeError for another kind of optimizer or loss."""
        if not hasattr(opt, "apply_gradients"):
            raise TypeError(f"opt must be an optimizer of TensorFlow; it is a {type(opt).__name__}")
        if not tf.is_tensor(loss):
            raise TypeError(f"loss must be a tensor; it is a {type(loss).__name__}")
        self.opt, self.loss, self.variables, self.tape = opt, loss, variables, tape
        self.compute: Dict[str, Any] = dict(compute_gradients_kwargs or {})
        self.apply: Dict[str, Any] = dict(apply_gradients_kwargs or {})


class PipelineStageOptions:
    """Options of Poplar for a stage; without effect."""

    def __init__(self, convolution_options: Any = None, matmul_options: Any = None) -> None:
        """Check their types. Raises TypeError unless they are dictionaries."""
        for name, options in (
            ("convolution_options", convolution_options),
            ("matmul_options", matmul_options),
        ):
            if not isinstance(options or {}, dict):
                raise TypeError(f"{name} must be a dictionary; it is {options!r}")


@without_autograph
def pipeline(
    computational_stages: List[Callable[..., Any]],
    gradient_accumulation_count: Optional[int] = None,
    gradient_accumulation_dtype: Any = None,
    repeat_count: int = 1,
    batch_serialization_iterations: int = 1,
    inputs: Any = None,
    infeed_queue: Any = None,
    outfeed_queue: Any = None,
    optimizer_function: Optional[Callable[..., Any]] = None,
    device_mapping: Optional[List[int]] = None,
    pipeline_schedule: Optional[PipelineSchedule] = None,
    outfeed_loss: bool = False,
    accumulate_outfeed: bool = False,
    reduction_method: Any = GradientAccumulationReductionMethod.SUM,
    name: Optional[str] = None,
    pipeline_depth: Optional[int] = None,
    **without_effect: Any,
) -> Any:
    """Run stages in turn for each micro-batch, and update weights after each `count` of them.

    Raises ValueError, TypeError and tf.errors.FailedPreconditionError where the real one does.
    """
    stages = list(computational_stages)
    count = gradient_accumulation_count or pipeline_depth
    if len(stages) < 2:
        raise ValueError(f"a pipeline has at least two stages; got {len(stages)}")
    if count is None:
        raise ValueError(
            "gradient_accumulation_count is missing: pass the micro-batches of an update"
        )
    if device_mapping is not None and len(device_mapping) != len(stages):
        raise ValueError(
            f"device_mapping has {len(device_mapping)} entries and there are {len(stages)} stages: "
            "name one IPU for each stage"
        )
    if outfeed_loss and optimizer_function is None:
        raise ValueError("outfeed_loss needs a loss: pass an optimizer_function")
    if outfeed_loss and outfeed_queue is None:
        raise ValueError("outfeed_loss sends the loss to a queue: pass an outfeed_queue")
    if accumulate_outfeed and outfeed_queue is None:
        raise ValueError("accumulate_outfeed adds up what a queue gets: pass an outfeed_queue")
    if accumulate_outfeed and outfeed_queue._mode is not IPUOutfeedMode.ALL:
        raise ValueError("accumulate_outfeed needs an outfeed_queue with IPUOutfeedMode.ALL")
    check_depth(int(count), len(stages), pipeline_schedule, device_mapping)
    for option, value in without_effect.items():
        if value not in (None, False, 1):
            has_no_effect(f"pipeline({option}=)")
    STATE.shards = max(STATE.shards, len(set(device_mapping or range(len(stages)))))
    run = _Pipeline(
        stages,
        int(count),
        infeed_queue,
        outfeed_queue,
        optimizer_function,
        outfeed_loss,
        accumulate_outfeed,
        GradientAccumulationReductionMethod.parse(reduction_method),
    )
    constant = [tf.convert_to_tensor(value) for value in loops.listed(inputs)]
    return loops.repeat(int(repeat_count), lambda: run.once(constant), [])


class _Pipeline:
    """One pipeline while it is built."""

    def __init__(
        self,
        stages: List[Callable[..., Any]],
        count: int,
        infeed: Any,
        outfeed: Any,
        optimizer_function: Any,
        outfeed_loss: bool,
        accumulate_outfeed: bool,
        method: GradientAccumulationReductionMethod,
    ) -> None:
        self._stages, self._count, self._infeed, self._outfeed = stages, count, infeed, outfeed
        self._optimizer_function, self._outfeed_loss = optimizer_function, outfeed_loss
        self._accumulates = accumulate_outfeed
        is_sum = method is GradientAccumulationReductionMethod.SUM
        self._scale = 1.0 if is_sum else 1.0 / count
        self._sums: List[Any] = []
        self._totals: List[Any] = []
        self._structure: Any = None
        self._pairs: List[Any] = []
        self._output: Any = None

    def once(self, constant: List[Any]) -> Any:
        """Build the micro-batches of one weight update; return its last operation."""
        done = loops.repeat(self._count, lambda *element, **named: self._micro_batch(
            constant, element, named
        ), [], self._infeed)  # fmt: skip
        with tf.control_dependencies([done]):
            operations = [tf.group(done)]
            if self._sums:
                values = [total.read_value() for total in self._sums]
                with tf.control_dependencies(values):
                    pairs = list(zip(values, self._pairs))
                    update = self._output.opt.apply_gradients(pairs, **self._output.apply)
                with tf.control_dependencies([update]):
                    operations += [_clear(total) for total in self._sums]
            if self._totals:
                totals = [total.read_value() for total in self._totals]
                enqueued = self._outfeed.enqueue(tf.nest.pack_sequence_as(self._structure, totals))
                with tf.control_dependencies([enqueued]):
                    operations += [_clear(total) for total in self._totals]
        return tf.group(*operations)

    def _micro_batch(self, constant: List[Any], element: Any, named: Any) -> Any:
        values, more = [*constant, *element], named
        for stage in self._stages:
            results = stage(*values, **more)
            if isinstance(results, dict):
                values, more = [], results
            else:
                values, more = loops.listed(results), {}
        tensors, operations = (
            ([], []) if more else loops.separate([each for each in values if each is not None])
        )
        if self._optimizer_function is not None:
            self._output = self._optimizer_function(*tensors, **more)
            if not isinstance(self._output, OptimizerFunctionOutput):
                raise TypeError(
                    "optimizer_function returned a "
                    f"{type(self._output).__name__}: let it return an OptimizerFunctionOutput"
                )
            operations += self._add_gradients()
        leaving: Any = more or tensors
        if self._outfeed_loss:
            leaving = self._output.loss
        if self._outfeed is None:
            if tensors and self._optimizer_function is None:
                raise ValueError("the last stage returns tensors: pass an outfeed_queue")
        elif self._outfeed_loss or more or tensors:
            operations.append(self._leave(leaving))
        return tf.group(*operations)

    def _add_gradients(self) -> List[Any]:
        output = self._output
        if output.tape is not None or not hasattr(output.opt, "compute_gradients"):
            with tf.init_scope():
                trainable = output.variables or tf.compat.v1.trainable_variables()
            gradients = tf.gradients(output.loss, trainable)
            pairs = list(zip(gradients, trainable))
        else:
            pairs = output.opt.compute_gradients(output.loss, **output.compute)
        present = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        self._pairs = [variable for _, variable in present]
        self._sums = [zeros(variable.shape, variable.dtype) for _, variable in present]
        return [
            total.assign_add(tf.cast(tf.convert_to_tensor(gradient), total.dtype) * self._scale)
            for total, (gradient, _) in zip(self._sums, present)
        ]

    def _leave(self, values: Any) -> Any:
        if isinstance(values, list) and len(values) == 1:
            values = values[0]
        if not self._accumulates:
            return self._outfeed.enqueue(tuple(values) if isinstance(values, list) else values)
        flat = tf.nest.flatten(values)
        self._structure = tf.nest.map_structure(lambda _: 0, values)
        self._totals = [zeros(value.shape, value.dtype) for value in flat]
        return tf.group(*[total.assign_add(each) for total, each in zip(self._totals, flat)])


def _clear(total: Any) -> Any:
    return total.assign(tf.zeros(total.shape, total.dtype))


def recomputation_checkpoint(tensors: Any, name: Optional[str] = None) -> Any:
    """Return the tensors; without effect."""
    has_no_effect("recomputation_checkpoint")
    return tf.nest.map_structure(tf.identity, tensors)
