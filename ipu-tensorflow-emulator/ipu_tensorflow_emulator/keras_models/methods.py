"""Methods that Keras for the IPU adds to every model."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any, Callable, List, Optional

import tensorflow as tf

from ipu_tensorflow_emulator.keras_models import options as model_options
from ipu_tensorflow_emulator.keras_models import stages, subclasses
from ipu_tensorflow_emulator.keras_models.execution import run, strategy_of
from ipu_tensorflow_emulator.keras_models.installed import keras_modules
from ipu_tensorflow_emulator.keras_models.options import note, options_of
from ipu_tensorflow_emulator.process import STATE, has_no_effect

_MARK = "_has_ipu_methods"
# Arguments of pipelining_ops.pipeline().
_OF_KERAS = (
    *("inputs", "infeed_queue", "outfeed_queue", "optimizer_function", "repeat_count"),
    "batch_serialization_iterations",
)


def set_gradient_accumulation_options(
    self: Any,
    gradient_accumulation_steps_per_replica: Optional[int] = None,
    experimental_normalize_gradients: Optional[bool] = None,
    gradient_accumulation_reduction_method: Any = None,
    use_v2_gradient_accumulation_optimizer: bool = False,
    **without_effect: Any,
) -> None:
    """Accumulate the gradients of micro-batches before weights are updated."""
    options = options_of(self)
    name = "gradient_accumulation_steps_per_replica"
    options.accumulation = model_options.steps(name, gradient_accumulation_steps_per_replica)
    options.reduction = model_options.reduction(
        gradient_accumulation_reduction_method, experimental_normalize_gradients
    )
    note("set_gradient_accumulation_options", without_effect)


def set_pipelining_options(
    self: Any,
    gradient_accumulation_steps_per_replica: Optional[int] = None,
    device_mapping: Optional[List[int]] = None,
    accumulate_outfeed: Optional[bool] = None,
    gradient_accumulation_reduction_method: Any = None,
    experimental_normalize_gradients: Optional[bool] = None,
    pipeline_schedule: Any = None,
    **without_effect: Any,
) -> None:
    """Set how a pipelined model accumulates gradients; its stages run in turn."""
    options = options_of(self)
    name = "gradient_accumulation_steps_per_replica"
    options.pipelined_accumulation = model_options.steps(
        name, gradient_accumulation_steps_per_replica
    )
    options.pipelined_reduction = model_options.reduction(
        gradient_accumulation_reduction_method, experimental_normalize_gradients
    )
    if device_mapping is not None and not all(isinstance(each, int) for each in device_mapping):
        raise ValueError(f"`device_mapping` must be a list of IPUs; it is {device_mapping!r}")
    options.device_mapping = None if device_mapping is None else list(device_mapping)
    options.schedule = pipeline_schedule
    for key in _OF_KERAS:
        if key in without_effect:
            raise ValueError(f"{key} is set by Keras itself: remove it from the options")
    if "gradient_accumulation_count" in without_effect:
        raise ValueError(
            f"Keras has another name for gradient_accumulation_count: pass {name} instead"
        )
    options.asks_for_pipeline = True
    more = {"pipeline_schedule": pipeline_schedule, "accumulate_outfeed": accumulate_outfeed}
    note("set_pipelining_options", {**without_effect, **more})


def set_replication_options(self: Any, replicated_metric_reduction_method: Any = "NONE") -> None:
    """Set how metrics of replicas are combined; here they are of all batches."""
    has_no_effect("set_replication_options (metrics are of the batches of all replicas)")


def set_infeed_queue_options(self: Any, **without_effect: Any) -> None:
    """Set options of the queue into the model; without effect."""
    note("set_infeed_queue_options", without_effect)


def set_outfeed_queue_options(self: Any, **without_effect: Any) -> None:
    """Set options of the queue from the model; without effect."""
    note("set_outfeed_queue_options", without_effect)


def set_asynchronous_callbacks(self: Any, asynchronous: bool = False) -> None:
    """Call callbacks of batches while an execution runs; here they are called after it."""
    if asynchronous:
        has_no_effect("set_asynchronous_callbacks (callbacks are called after an execution)")


def get_pipeline_stage_assignment(self: Any) -> List[Any]:
    """Return the stage of each call of a layer, in post-order.

    Raises RuntimeError for a subclass of Model before build().
    """
    if stages.is_subclass(self):
        subclasses.trace_built(self)
    return options_of(self).stages or stages.assignments(self)


def set_pipeline_stage_assignment(self: Any, pipeline_stage_assignment: List[Any]) -> None:
    """Set the stage of each call of a layer. Raises ValueError if they cannot be."""
    if stages.is_subclass(self):
        subclasses.trace_built(self)
    options_of(self).stages = stages.checked(self, pipeline_stage_assignment)


def reset_pipeline_stage_assignment(self: Any) -> None:
    """Remove the stages, so that the model is not pipelined."""
    options_of(self).stages = None
    stages.forget(self)


def print_pipeline_stage_assignment_summary(
    self: Any, line_length: Optional[int] = None, print_fn: Optional[Callable[[str], Any]] = None
) -> None:
    """Print the stage of each layer."""
    write = print_fn or (lambda line: sys.stdout.write(f"{line}\n"))
    for each in get_pipeline_stage_assignment(self):
        write(f"{each.layer.name}: pipeline stage {each.pipeline_stage}")


def export_for_ipu_serving(self: Any, *_: Any, **__: Any) -> Any:
    """Raise NotImplementedError."""
    raise NotImplementedError(
        "export_for_ipu_serving stores an executable for IPUs, which the emulation cannot make. "
        "Use model.save() here, and export with Graphcore's TensorFlow"
    )


_ADDED = (
    set_gradient_accumulation_options,
    set_pipelining_options,
    set_replication_options,
    set_infeed_queue_options,
    set_outfeed_queue_options,
    set_asynchronous_callbacks,
    get_pipeline_stage_assignment,
    set_pipeline_stage_assignment,
    reset_pipeline_stage_assignment,
    print_pipeline_stage_assignment_summary,
    export_for_ipu_serving,
)


def add_to(keras: Any) -> None:
    """Add the methods to the models of a Keras, once."""
    model = keras.Model
    if _MARK in model.__dict__:
        return
    setattr(model, _MARK, True)
    for method in _ADDED:
        setattr(model, method.__name__, method)
    for name in ("fit", "evaluate", "predict"):
        setattr(model, name, _on_ipus(model, name))
    model.__init__ = _with_strategy(model.__init__)
    model.compile = _compiled(model.compile)
    if "build" in model.__dict__:  # Keras 3 stores the shape itself
        model.build = _built(model.build)


def _on_ipus(model: Any, name: str) -> Any:
    stock = getattr(model, name)

    @functools.wraps(stock)
    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        return run(self, model, name, stock, arguments, named)

    return method


def _with_strategy(stock: Any) -> Any:
    @functools.wraps(stock)
    def initialise(self: Any, *arguments: Any, **named: Any) -> None:
        if STATE.strategy is not None:
            options_of(self).strategy = STATE.strategy
        stock(self, *arguments, **named)

    return initialise


def _built(stock: Any) -> Any:
    @functools.wraps(stock)
    def build(self: Any, input_shape: Any) -> None:
        stock(self, input_shape)
        if stages.is_subclass(self):
            subclasses.remember_shape(self, input_shape)
            options_of(self).stages = None

    return build


def _compiled(stock: Any) -> Any:
    @functools.wraps(stock)
    def compile(self: Any, *arguments: Any, **named: Any) -> Any:
        options = options_of(self)
        if named.get("steps_per_execution", 1) is None:
            del named["steps_per_execution"]  # the default of Keras 2; Keras 3 cannot take None
        if options.strategy is None:
            options.strategy = STATE.strategy
        if strategy_of(self) is None:
            return stock(self, *arguments, **named)
        steps = named.get("steps_per_execution")
        if isinstance(steps, tf.Tensor) and steps.dtype.is_integer:  # as cardinality() returns
            steps = named["steps_per_execution"] = int(steps)
        if steps is not None and (not isinstance(steps, int) or steps < 1):
            raise ValueError(f"`steps_per_execution` must be a whole number >= 1; it is {steps!r}")
        options.steps_per_execution = steps or 1
        options.traced_for.clear()
        if named.get("jit_compile", "auto") not in (None, False) and _has_jit(stock):
            named["jit_compile"] = False  # XLA cannot compile custom ops here
        return stock(self, *arguments, **named)

    return compile


def _has_jit(stock: Any) -> bool:
    return "jit_compile" in stock.__code__.co_varnames if hasattr(stock, "__code__") else True


def prepare() -> None:
    """Add methods and `keras.ipu` to every Keras of this process."""
    ours = importlib.import_module("ipu_tensorflow_emulator.keras_ipu")
    for keras in keras_modules().values():
        add_to(keras)
        keras.ipu = ours
    if "tf_keras" in sys.modules:  # Keras 2.6 has this name
        losses: Any = importlib.import_module("tf_keras.losses")
        losses.losses_utils = importlib.import_module("tf_keras.src.utils.losses_utils")
