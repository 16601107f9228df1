"""Stages of pipelined Keras models. Stages run one after the other on the host."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional

import tensorflow as tf

from ipu_tensorflow_emulator.keras_models import subclasses

_KEY = "_ipu_pipeline_stages"  # by the number of the call
_ALL_CALLS = "_ipu_pipeline_stage"  # of calls without a stage of their own
_trained_whole: List[str] = []  # names of models that are trained without a pipeline
_without_pipeline: List[str] = []  # the errors of those that name stages


class LayerAssignment:
    """The stage of one call of a layer.

    node_index: number of the call among all calls of the layer.
    """

    def __init__(
        self,
        layer: Any,
        node_index: int = 0,
        pipeline_stage: Optional[int] = None,
        inbound_layers: Any = (),
    ) -> None:
        """Assign a call to a stage, or to none."""
        self._layer, self._node_index = layer, node_index
        self._inbound_layers = list(inbound_layers)
        self.pipeline_stage = pipeline_stage

    @property
    def layer(self) -> Any:
        """Return the layer."""
        return self._layer

    @property
    def node_index(self) -> int:
        """Return the number of the call."""
        return self._node_index

    @property
    def inbound_layers(self) -> List[Any]:
        """Return the layers whose outputs enter."""
        return self._inbound_layers

    def __repr__(self) -> str:
        return f"Layer: {self.layer.name} stage: {self.pipeline_stage}"


@contextmanager
def trained_whole(model: Any, is_whole: bool) -> Iterator[None]:
    """Train a model, without a pipeline if it is whole; its call() then must name no stages.

    Raises ValueError if it does.
    """
    _trained_whole.extend([model.name] if is_whole else [])
    _without_pipeline.clear()
    try:
        yield
    except Exception as error:
        if _without_pipeline:  # AutoGraph of TensorFlow 2.6 raises another error
            raise ValueError(_without_pipeline[0]) from error
        raise
    finally:
        _trained_whole.clear()


def check_pipelined() -> None:
    """Raise ValueError if a model names a stage while it is trained without a pipeline."""
    if _trained_whole:
        _without_pipeline.append(
            f"{_trained_whole[-1]} names pipeline stages and `gradient_accumulation_steps_per_"
            "replica` is not set. Set it with set_pipelining_options() before fit()"
        )
        raise ValueError(_without_pipeline[0])


def is_sequential(model: Any) -> bool:
    """Return whether a model is a Sequential, of any Keras."""
    return any(base.__name__ == "Sequential" for base in type(model).__mro__)


def is_functional(model: Any) -> bool:
    """Return whether a model has a graph of layers."""
    return any(base.__name__ == "Functional" for base in type(model).__mro__)


def remember(layer: Any, node_index: int, stage: int) -> None:
    """Store the stage of a call that PipelineStage surrounds."""
    layer.__dict__.setdefault(_KEY, {})[node_index] = stage


def remember_all_calls(layer: Any, stage: int) -> None:
    """Store the stage of a layer that was created in PipelineStage."""
    layer.__dict__[_ALL_CALLS] = stage


def has_stages(model: Any) -> bool:
    """Return whether a layer of a model was created in PipelineStage."""
    return any(_ALL_CALLS in layer.__dict__ for layer in model.layers)


def forget(model: Any) -> None:
    """Remove the stages of a model's layers."""
    for layer in (subclasses.graph_of(model) or model).layers:
        layer.__dict__.pop(_KEY, None)
        layer.__dict__.pop(_ALL_CALLS, None)


def is_subclass(model: Any) -> bool:
    """Return whether a model overrides call(), so that its graph has to be traced."""
    return not (is_sequential(model) or is_functional(model))


def assignments(model: Any) -> List[LayerAssignment]:
    """Return one assignment for each call of a layer, in post-order."""
    if is_sequential(model):
        return [LayerAssignment(layer, 0, _stage(layer, 0)) for layer in model.layers]
    return list(_calls(subclasses.graph_of(model) if is_subclass(model) else model))


def stages_of(model: Any, by_hand: Optional[List[Any]]) -> Optional[List[int]]:
    """Return the stage of every call, None without pipeline.

    Raises ValueError if some calls have no stage.
    """
    if is_subclass(model) and subclasses.graph_of(model) is None:
        return None
    found = [each.pipeline_stage for each in (by_hand or assignments(model))]
    if not found or all(stage is None for stage in found):
        return None
    if any(stage is None for stage in found):
        names = [
            each.layer.name
            for each in (by_hand or assignments(model))
            if each.pipeline_stage is None
        ]
        raise ValueError(
            f"All layers of a pipelined model must have a pipeline stage; without one: "
            f"{', '.join(names)}"
        )
    return [int(stage) for stage in found if stage is not None]


def checked(model: Any, assigned: Any) -> List[LayerAssignment]:
    """Return assignments that were set by hand.

    Raises ValueError if their number, their stages or their order cannot be.
    """
    if not isinstance(assigned, (list, tuple)):
        raise ValueError("`pipeline_stage_assignment` must be a list")
    calls = assignments(model)
    if len(assigned) != len(calls):
        raise ValueError(
            f"pipeline_stage_assignment has {len(assigned)} entries and the model {len(calls)} "
            "layers: give one for each"
        )
    found = []
    for call, each in zip(calls, assigned):
        stage = each if isinstance(each, int) else getattr(each, "pipeline_stage", None)
        if not isinstance(each, int) and getattr(each, "layer", call.layer) is not call.layer:
            raise ValueError(
                f"Assignments must be in the order of get_pipeline_stage_assignment(): "
                f"{call.layer.name} is expected where {each.layer.name} is"
            )
        if not isinstance(stage, int) or stage < 0:
            raise ValueError(f"{call.layer.name} has no pipeline stage; it has {stage!r}")
        found.append(LayerAssignment(call.layer, call.node_index, stage, call.inbound_layers))
    check_order(model, found)
    return found


def check_order(model: Any, assigned: List[LayerAssignment]) -> None:
    """Raise ValueError if a stage is left out, or uses the output of a later one."""
    numbers = sorted({int(each.pipeline_stage or 0) for each in assigned})
    if numbers != list(range(len(numbers))):
        raise ValueError(
            f"Pipeline stages must be numbered from 0 without gaps; they are {numbers}"
        )
    if is_sequential(model):
        order = [int(each.pipeline_stage or 0) for each in assigned]
        if order != sorted(order):
            raise ValueError(f"Pipeline stages of a Sequential must not decrease; they are {order}")
        return
    nodes = [each.layer._inbound_nodes[each.node_index] for each in assigned]
    stages = {id(node): int(each.pipeline_stage or 0) for node, each in zip(nodes, assigned)}
    for node, each in zip(nodes, assigned):
        stage = stages[id(node)]
        for parent in getattr(node, "parent_nodes", ()):  # since Keras 2.4
            if stages.get(id(parent), 0) > stage:
                raise ValueError(
                    f"{each.layer.name} of pipeline stage {stage} reads {_layer(parent).name} of "
                    f"stage {stages[id(parent)]}: move it to that stage or a later one"
                )


def is_in_turn(schedule: Any) -> bool:
    """Return whether a schedule runs one stage at a time, on IPUs too."""
    return getattr(schedule, "name", None) == "Sequential"  # text of an IntEnum is its number


def check_depth(count: int, number: int, schedule: Any, device_mapping: Any) -> None:
    """Raise tf.errors.FailedPreconditionError if stages that overlap do not divide the count."""
    if device_mapping is None and not is_in_turn(schedule) and count % number:
        raise tf.errors.FailedPreconditionError(
            None,
            None,
            f"an update has {count} micro-batches, which is no multiple of the {number} stages",
        )


def _calls(model: Any) -> Iterator[LayerAssignment]:
    by_depth: Dict[int, List[Any]] = model._nodes_by_depth
    for depth in sorted(by_depth, reverse=True):
        for node in by_depth[depth]:
            layer = _layer(node)
            if type(layer).__name__ != "InputLayer":
                number = layer._inbound_nodes.index(node)
                parents = [_layer(parent) for parent in getattr(node, "parent_nodes", ())]
                yield LayerAssignment(layer, number, _stage(layer, number), parents)


def _layer(node: Any) -> Any:
    return node.layer if hasattr(node, "layer") else node.operation


def _stage(layer: Any, number: int) -> Optional[int]:
    """Return the stage of a call, else that of the layer."""
    default = layer.__dict__.get(_ALL_CALLS)
    found: Optional[int] = layer.__dict__.get(_KEY, {}).get(number, default)
    return found
