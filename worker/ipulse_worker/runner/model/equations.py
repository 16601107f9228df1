"""The layers of a spec that have equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Tuple

import numpy as np

from ipulse_core.equations.neuron import read_neuron
from ipulse_core.spec.part_layers import indexed_equations
from ipulse_ops.equations.initialisation import balanced_layer
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_worker.runner.model.layers_of_spec import surrogate_of
from ipulse_worker.runner.model.stretches import stretches_of

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def equations_of(spec: ExperimentSpec, index: int) -> LayerEquations:
    """Return hidden layer `index`, from 0, which has equations."""
    layer: Any = spec.network.layers[index]
    return LayerEquations(
        neuron=read_neuron(layer.neuron),
        neurons=layer.neurons,
        surrogate=surrogate_of(spec.network.surrogate),
        truncate=getattr(spec.training, "truncate_steps", None),
    )


def equations_layers_of(spec: ExperimentSpec) -> List[LayerEquations]:
    """Return all hidden layers that have equations."""
    return [equations_of(spec, index) for index, _ in indexed_equations(spec.network)]


def balanced_equations(
    spec: ExperimentSpec,
    index: int,
    ids: np.ndarray,
    counts: np.ndarray,
    std: float,
    seed: int,
) -> Tuple[List[np.ndarray], np.ndarray]:
    """Return initial weights of hidden layer `index`, and its spikes on a sample of its input.

    Raises ValueError if no weights make it active.
    """
    senders = next(each.senders for each in stretches_of(spec) if each.layers == (index,))
    layer, described = equations_of(spec, index), dict(indexed_equations(spec.network))[index]
    weights, spikes = balanced_layer(layer, senders, ids, counts, std, seed, index)
    if described.bias:
        return [weights, np.zeros(layer.neurons, np.float32)], spikes
    return [weights], spikes
