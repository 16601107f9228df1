"""The options that Keras models of an IPUStrategy have."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from ipu_tensorflow_emulator.gradient_accumulation import GradientAccumulationReductionMethod
from ipu_tensorflow_emulator.keras_models import stages
from ipu_tensorflow_emulator.process import has_no_effect, ipus_in_use

_SUM = GradientAccumulationReductionMethod.SUM
_KEY = "_ipu_options"


@dataclass
class Options:
    """Options of one model.

    runs_epochs: an execution is a whole epoch, as in SDK 2.1 and older.
    traced_for: what each of its functions is traced for.
    """

    strategy: Optional[Any] = None
    accumulation: Optional[int] = None
    reduction: GradientAccumulationReductionMethod = _SUM
    pipelined_accumulation: Optional[int] = None
    pipelined_reduction: GradientAccumulationReductionMethod = _SUM
    device_mapping: Optional[List[int]] = None
    schedule: Any = None
    asks_for_pipeline: bool = False  # by set_pipelining_options()
    stages: Optional[List[Any]] = None  # set by hand: assignments of the model's layers
    steps_per_execution: int = 1
    runs_epochs: bool = False
    traced_for: Dict[str, Any] = field(default_factory=dict)
    programs: Dict[str, Any] = field(default_factory=dict)


def options_of(model: Any) -> Options:
    """Return a model's options, which Keras does not track."""
    options = model.__dict__.get(_KEY)
    if options is None:
        options = model.__dict__[_KEY] = Options()
    return options  # type: ignore[no-any-return] # of an untyped dictionary


def steps(name: str, value: Any) -> Optional[int]:
    """Return a number of micro-batches. Raises ValueError unless it is 1 or more."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ValueError(f"`{name}` must be a whole number >= 1; it is {value!r}")
    return value


def reduction(method: Any, normalize: Any) -> GradientAccumulationReductionMethod:
    """Return the reduction of gradients over micro-batches."""
    if normalize:
        return GradientAccumulationReductionMethod.MEAN
    return _SUM if method is None else GradientAccumulationReductionMethod.parse(method)


def shards(model: Any) -> int:
    """Return the number of IPUs that one replica of a model uses."""
    assigned = stages.stages_of(model, options_of(model).stages)
    if assigned is None:
        return 1
    mapping = options_of(model).device_mapping
    return 1 + (max(mapping) if mapping else max(assigned))


def replicas(model: Any) -> int:
    """Return the number of replicas. Raises ValueError if the model needs more IPUs."""
    each, ipus = shards(model), ipus_in_use()
    if each > ipus:
        needed = 2 ** math.ceil(math.log2(each))
        raise ValueError(
            f"the model needs {needed} IPUs and {ipus} are configured: set auto_select_ipus of the "
            "IPUConfig"
        )
    return ipus // int(2 ** math.ceil(math.log2(each)))


def accumulated_steps(model: Any, steps_per_execution: int) -> int:
    """Return the micro-batches of one weight update.

    Raises ValueError for a pipelined model without accumulation, and RuntimeError if they do not
    divide the steps of an execution.
    """
    options = options_of(model)
    is_pipelined = stages.stages_of(model, options.stages) is not None
    is_in_turn = stages.is_in_turn(options.schedule)
    if is_pipelined and options.pipelined_accumulation is None and not is_in_turn:
        raise ValueError(
            "The model is pipelined and `gradient_accumulation_steps_per_replica` is not set. Set "
            "it with set_pipelining_options(): pipelined models accumulate gradients in training"
        )
    k = options.pipelined_accumulation if is_pipelined else options.accumulation
    k = k or 1
    if steps_per_execution % k:
        raise RuntimeError(
            f"an update takes {k} steps (gradient_accumulation_steps_per_replica) and an execution "
            f"has {steps_per_execution} (steps_per_execution): make the second a multiple of "
            "the first"
        )
    if is_pipelined:
        stages.check_depth(k, shards(model), options.schedule, options.device_mapping)
    return k


def reduction_of(model: Any) -> GradientAccumulationReductionMethod:
    """Return the reduction of gradients in use."""
    options = options_of(model)
    is_pipelined = stages.stages_of(model, options.stages) is not None
    return options.pipelined_reduction if is_pipelined else options.reduction


def note(function: str, arguments: Dict[str, Any]) -> None:
    """Note arguments that have no effect."""
    for name, value in arguments.items():
        if value is not None:
            has_no_effect(f"{function}({name}=)")
