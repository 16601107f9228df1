"""The layers of a network as equations of losses and regularisers read them, by name.

The arguments are `ipulse.spec.ExperimentSpec` and its parts, or the document that the runner reads.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Set, Tuple

from ipulse_core.equations.axes import CLASSES, TIME, neurons_axis
from ipulse_core.equations.loss import (
    LABEL,
    MEMBRANE,
    OF_LAYERS,
    SPIKES,
    STEP_TARGET,
    TARGET,
    LayerValue,
    LossEquations,
    default_prediction,
    equation_texts,
    layer_names_in,
    read_loss,
)
from ipulse_core.spec.conv_layers import hidden_sizes
from ipulse_core.spec.derived_values import (
    bounded_layers,
    class_count,
    has_own_loss,
    has_step_targets,
    is_regression,
)
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_names import layer_name


def equations_in(training: Any) -> Iterator[Tuple[str, Any]]:
    """Yields loss and regularisers of a training that are equations, after their JSON pointers."""
    if has_own_loss(training):
        yield "/training/loss", training.loss
    for number, each in enumerate(training.regularisers):
        if each.kind == "equations":
            yield f"/training/regularisers/{number}", each


def values_read(network: Any, described: Any) -> Set[Tuple[int, str]]:
    """Returns what equations, right or wrong, read of which layers: index, and one of OF_LAYERS."""
    indices = _indices(network)
    pairs = layer_names_in(equation_texts(described))
    return {(indices[name], what) for name, what in pairs if name in indices and what in OF_LAYERS}


def reads_membrane(spec: Any, index: int) -> bool:
    """Returns whether a loss or regulariser needs the membranes of a layer, from 0."""
    hidden = len(spec.network.layers)
    return any(
        bound.kind == "membrane" and index in bounded_layers(bound, hidden)
        for bound in spec.training.regularisers
    ) or any(
        (index, MEMBRANE) in values_read(spec.network, described)
        for _, described in equations_in(spec.training)
    )


def reads_hidden_membranes(spec: Any) -> bool:
    """Returns whether a loss or regulariser needs the membranes of hidden layers."""
    return any(reads_membrane(spec, index) for index in range(len(spec.network.layers)))


def equations_of_spec(spec: Any, described: Any) -> LossEquations:
    """Returns a loss or regulariser of a spec as trees.

    Raises:
        InvalidEquations: With every problem; pointers begin at the loss or regulariser.
    """
    right = LABEL
    if is_regression(spec.training):
        right = STEP_TARGET if has_step_targets(spec.training) else TARGET
    return read_loss(described, _layer_values(spec), right)


def prediction_of_spec(spec: Any) -> str:
    """Returns the default prediction of a spec's loss, which is made of equations."""
    equations = equations_of_spec(spec, spec.training.loss)
    return default_prediction(equations.reads, dict(equations.layers))


def _indices(network: Any) -> Dict[str, int]:
    """Returns the indices of the layers by each of their names, the readout last."""
    layers, hidden = [*network.layers, network.readout], len(network.layers)
    found = {layer_name(index, hidden): index for index in range(hidden + 1)}
    own = ((field_of(layer, "name"), index) for index, layer in enumerate(layers))
    return {**found, **{name: index for name, index in own if name}}


def _layer_values(spec: Any) -> Dict[str, LayerValue]:
    """Returns what equations may read of layers, by name; layers have sizes where data have."""
    network, classes = spec.network, class_count(spec.data)
    sizes: List[int] = [*hidden_sizes(spec), classes]
    hidden = len(network.layers)
    found: Dict[str, LayerValue] = {}
    for name, index in _indices(network).items():
        is_readout = index == hidden
        is_classes = is_readout or sizes[index] == classes
        axis = CLASSES if is_classes else neurons_axis(sizes[index])
        for what in OF_LAYERS:
            missing = None
            if what == SPIKES and is_readout and network.readout.kind == "leaky":
                missing = "a leaky readout does not spike; read its membrane"
            key = f"{layer_name(index, hidden)}.{what}"
            axes = frozenset({TIME, axis})
            found[f"{name}.{what}"] = LayerValue(index, what, axes, key, is_readout, missing)
    return found
