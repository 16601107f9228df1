"""Stages of pipelined Keras models. Stages run one after the other on the host."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional

import tensorflow as tf

_KEY = "_ipu_pipeline_stages"


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


def is_sequential(model: Any) -> bool:
    """Return whether a model is a Sequential, of any Keras."""
    return any(base.__name__ == "Sequential" for base in type(model).__mro__)


def is_functional(model: Any) -> bool:
    """Return whether a model has a graph of layers."""
    return any(base.__name__ == "Functional" for base in type(model).__mro__)


def remember(layer: Any, node_index: int, stage: int) -> None:
    """Store the stage of a call that PipelineStage surrounds."""
    layer.__dict__.setdefault(_KEY, {})[node_index] = stage


def forget(model: Any) -> None:
    """Remove the stages of a model's layers."""
    for layer in _layers(model):
        layer.__dict__.pop(_KEY, None)


def assignments(model: Any) -> List[LayerAssignment]:
    """Return one assignment for each call of a layer, in post-order."""
    if is_sequential(model):
        return [
            LayerAssignment(layer, 0, layer.__dict__.get(_KEY, {}).get(0)) for layer in model.layers
        ]
    if not is_functional(model):
        raise NotImplementedError(
            "Stages of a subclass of Model are not emulated. Build the model with the functional "
            "API, or with Sequential"
        )
    return list(_calls(model))


def stages_of(model: Any, by_hand: Optional[List[Any]]) -> Optional[List[int]]:
    """Return the stage of every call, None without pipeline.

    Raises ValueError if some calls have no stage.
    """
    if not (is_sequential(model) or is_functional(model)):
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
    latest: Dict[int, int] = {}
    for each in assigned:
        stage = int(each.pipeline_stage or 0)
        for layer in each.inbound_layers:
            if latest.get(id(layer), 0) > stage:
                raise ValueError(
                    f"{each.layer.name} of pipeline stage {stage} reads {layer.name} of stage "
                    f"{latest[id(layer)]}: move it to that stage or a later one"
                )
        latest[id(each.layer)] = stage


def check_depth(count: int, number: int, schedule: Any, device_mapping: Any) -> None:
    """Raise tf.errors.FailedPreconditionError if stages that overlap do not divide the count."""
    if device_mapping is None and "Sequential" not in str(schedule) and count % number:
        raise tf.errors.FailedPreconditionError(
            None,
            None,
            f"an update has {count} micro-batches, which is no multiple of the {number} stages",
        )


def _calls(model: Any) -> Iterator[LayerAssignment]:
    own = {id(node) for node in _nodes(model)}
    for layer in model.layers:
        for number, node in enumerate(layer._inbound_nodes):
            if id(node) in own and type(layer).__name__ != "InputLayer":
                stage = layer.__dict__.get(_KEY, {}).get(number)
                yield LayerAssignment(layer, number, stage, _inbound(node))


def _nodes(model: Any) -> List[Any]:
    by_depth = getattr(model, "_nodes_by_depth", {})
    return [node for nodes in by_depth.values() for node in nodes]


def _inbound(node: Any) -> List[Any]:
    if hasattr(node, "parent_nodes"):  # since Keras 2.4
        parents = node.parent_nodes
        return [getattr(parent, "layer", getattr(parent, "operation", None)) for parent in parents]
    return []


def _layers(model: Any) -> List[Any]:
    return list(model.layers)
