"""Runs fit, evaluate and predict of Keras models of an IPUStrategy."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from contextlib import contextmanager
from typing import Any, Iterator

import tensorflow as tf

from ipu_tensorflow_emulator.gradient_accumulation import accumulating, accumulation_of
from ipu_tensorflow_emulator.ipu.ipu_strategy import attaches
from ipu_tensorflow_emulator.keras_models import options as model_options
from ipu_tensorflow_emulator.keras_models import stages, subclasses
from ipu_tensorflow_emulator.keras_models.data import DEFAULT_BATCH, Plan, plan
from ipu_tensorflow_emulator.keras_models.options import options_of
from ipu_tensorflow_emulator.process import STATE, Program, host_ops, on_device

# Of each method: the step that is traced, the function that makes its program, the argument with
# the number of steps.
_STEPS = {"fit": "train_step", "evaluate": "test_step", "predict": "predict_step"}
_MAKERS = {
    "fit": "make_train_function",
    "evaluate": "make_test_function",
    "predict": "make_predict_function",
}
_COUNTS = {"fit": "steps_per_epoch", "evaluate": "steps", "predict": "steps"}
_FUNCTIONS = {
    "fit": "train_function",
    "evaluate": "test_function",
    "predict": "predict_function",
}
# Arguments of Keras 2 that Keras 3 has no longer, and that have no effect on values.
_OLD = ("workers", "use_multiprocessing", "max_queue_size", "steps_per_run", "prefetch_depth")


def strategy_of(model: Any) -> Any:
    """Return the strategy of a model whose programs are on IPUs, or None."""
    strategy = options_of(model).strategy or STATE.strategy
    if strategy is None or not strategy.supports_keras_extensions:
        return None
    return strategy


def run(model: Any, base: Any, name: str, stock: Any, arguments: Any, named: Any) -> Any:
    """Run fit, evaluate or predict.

    Raises the errors of Keras for the IPU: RuntimeError for overridden steps and eager execution,
    ValueError for data.
    """
    signature = inspect.signature(stock)
    named = {key: value for key, value in named.items() if _is_known(key, signature)}
    bound = signature.bind(model, *arguments, **named)
    strategy, options = strategy_of(model), options_of(model)
    if strategy is None:
        with on_device() if STATE.strategy is not None else _nothing():
            return stock(*bound.args, **bound.kwargs)
    _check_overrides(model, base, name)
    if getattr(model, "run_eagerly", False):
        raise RuntimeError(
            "a model in the scope of an IPUStrategy is compiled: call compile() with "
            "run_eagerly=False"
        )
    attaches()
    given = bound.arguments
    _trace(model, strategy, given)
    replicas = model_options.replicas(model)
    planned = plan(
        given.get("x"),
        given.get("batch_size"),
        given.get(_COUNTS[name]),
        int(given.get("epochs", 1)) - int(given.get("initial_epoch", 0)),
        None if options.runs_epochs else options.steps_per_execution,
        replicas,
        float(given.get("validation_split") or 0.0),
    )
    accumulation = None
    if name == "fit":
        k = model_options.accumulated_steps(model, planned.steps_per_execution // replicas)
        accumulation = accumulation_of(k, replicas, model_options.reduction_of(model))
    given["x"] = planned.x
    if given.get(_COUNTS[name]) is not None:
        given[_COUNTS[name]] = planned.steps
    elif planned.dropped:
        _leave_out(given, planned)
    program = _program(model, name)
    is_whole = name == "fit" and stages.stages_of(model, options.stages) is None
    with strategy.scope(), _traced_for(model, name, planned, accumulation), _counted(
        model, _STEPS[name], program
    ), _accumulated(model, accumulation), stages.trained_whole(model, is_whole):
        result = stock(*bound.args, **bound.kwargs)
    epochs = len(getattr(result, "epoch", [0])) if name == "fit" else 1
    program.runs = (program.runs or 0) + epochs * planned.steps // planned.steps_per_execution
    return result


def _trace(model: Any, strategy: Any, given: Any) -> None:
    """Trace the layers of a subclass of Model, if they may have stages."""
    if not stages.is_subclass(model) or subclasses.graph_of(model) is not None:
        return
    if options_of(model).asks_for_pipeline or stages.has_stages(model):
        size = int(given.get("batch_size") or DEFAULT_BATCH)
        with strategy.scope():
            subclasses.trace(model, subclasses.specs_of(given.get("x"), size))


def _is_known(name: str, signature: Any) -> bool:
    return name not in _OLD or name in signature.parameters


def _leave_out(given: Any, planned: Plan) -> None:
    """Remove the batches that the replicas do not share evenly."""
    if planned.is_dataset:
        given["x"] = planned.x.take(planned.steps)
        return
    samples = planned.steps * int(given.get("batch_size") or DEFAULT_BATCH)
    for name in ("x", "y", "sample_weight"):
        if given.get(name) is not None:
            given[name] = tf.nest.map_structure(lambda each: each[:samples], given[name])


def _check_overrides(model: Any, base: Any, name: str) -> None:
    for method in (_STEPS[name], _MAKERS[name]):
        if getattr(type(model), method, None) is not getattr(base, method, None):
            raise RuntimeError(
                f"the model has a {method} of its own, which IPUs do not run: create "
                "the strategy with enable_keras_extensions=False and use strategy.run(), or "
                "leave the method out"
            )


@contextmanager
def _traced_for(model: Any, name: str, planned: Plan, accumulation: Any) -> Iterator[None]:
    """Set the steps of an execution; trace the function again if it was traced for others."""
    steps, traced = planned.steps_per_execution, options_of(model).traced_for
    wanted = (steps, accumulation and (accumulation.k, accumulation.scale))
    if traced.get(name) != wanted:
        traced[name] = wanted
        if hasattr(model, _FUNCTIONS[name]):
            setattr(model, _FUNCTIONS[name], None)
    before = _set_steps(model, steps)
    try:
        yield
    finally:
        _set_steps(model, before)


def _set_steps(model: Any, steps: int) -> int:
    current: Any = getattr(model, "_steps_per_execution", None)
    if hasattr(current, "assign"):  # Keras 2
        before = int(current.numpy())
        current.assign(steps)
        return before
    if not hasattr(model, "steps_per_execution"):
        return 1  # Keras 2, not compiled: predict() makes it with one step
    before = int(model.steps_per_execution or 1)
    model.steps_per_execution = steps
    return before


def _program(model: Any, name: str) -> Program:
    programs = options_of(model).programs
    if name not in programs or programs[name] not in STATE.programs:
        programs[name] = Program(f"{model.name}.{name}()", Counter())
        STATE.programs.append(programs[name])
    found: Program = programs[name]
    return found


@contextmanager
def _counted(model: Any, step: str, program: Program) -> Iterator[None]:
    """Count the nodes of a step while it is traced."""
    stock = getattr(model, step)

    @functools.wraps(stock)
    def counted(*arguments: Any, **named: Any) -> Any:
        arguments = _with_columns(arguments)
        if tf.executing_eagerly():
            return stock(*arguments, **named)
        graph = tf.compat.v1.get_default_graph()
        before = host_ops(graph)
        with on_device():
            results = stock(*arguments, **named)
        program.host_ops = host_ops(graph) - before
        return results

    with _replaced(model, step, counted):
        yield


def _with_columns(data: Any) -> Any:
    """Give tensors of rank 1 a second dimension, as the steps of Keras 2.6 do."""

    def expanded(each: Any) -> Any:
        return tf.expand_dims(each, -1) if tf.is_tensor(each) and each.shape.rank == 1 else each

    return tf.nest.map_structure(expanded, data)


@contextmanager
def _accumulated(model: Any, accumulation: Any) -> Iterator[None]:
    """Let the optimizer add gradients up, if anything is to be accumulated."""
    if accumulation is None:
        yield
        return
    optimizer = model.optimizer
    with _replaced(optimizer, "apply_gradients", accumulating(optimizer, accumulation)):
        yield


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace a method of one object; Keras tracks no attribute that is set so."""
    before = {key: own for key, own in owner.__dict__.items() if key == name}
    owner.__dict__[name] = value
    try:
        yield
    finally:
        owner.__dict__.pop(name, None)
        owner.__dict__.update(before)


@contextmanager
def _nothing() -> Iterator[None]:
    yield
