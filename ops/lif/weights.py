"""A network's weights: one flat sequence of arrays, which a layer's part is taken from by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ops.lif.network import LIF, Network


@dataclass(frozen=True)
class WeightShape:
    """What one array of the sequence is."""

    layer: int  # the readout's is the number of hidden layers
    role: str  # "input", "recurrent" or "bias"
    shape: Tuple[int, ...]  # [from, to] of a matrix, [neurons] of a bias


class LayerWeights(NamedTuple):
    """The arrays of one layer, float64; None where the layer has no such weights."""

    input: np.ndarray  # [N_in, neurons]
    recurrent: Optional[np.ndarray] = None  # [neurons, neurons], row = the neuron that spiked
    bias: Optional[np.ndarray] = None  # [neurons]


def weight_shapes(network: Network) -> Tuple[WeightShape, ...]:
    """The sequence that `network` takes: of each layer, and at last of the readout, the input
    weights, then the recurrent ones and the bias if it has any."""
    shapes: List[WeightShape] = []
    sizes = network.sizes
    for number, layer in enumerate((*network.layers, network.readout)):
        n_in, neurons = sizes[number : number + 2]
        shapes.append(WeightShape(number, "input", (n_in, neurons)))
        if isinstance(layer, LIF) and layer.recurrent:
            shapes.append(WeightShape(number, "recurrent", (neurons, neurons)))
        if layer.bias:
            shapes.append(WeightShape(number, "bias", (neurons,)))
    return tuple(shapes)


def by_layer(network: Network, weights: Sequence[np.ndarray]) -> List[LayerWeights]:
    """The weights of each layer and the readout.

    Raises ValueError if their number or a shape is not `weight_shapes(network)`'s.
    """
    shapes = weight_shapes(network)
    if len(weights) != len(shapes):
        raise ValueError(f"the network needs {len(shapes)} weights; got {len(weights)}")
    layers: List[LayerWeights] = []
    for number, (array, expected) in enumerate(zip(weights, shapes)):
        if np.shape(array) != expected.shape:
            raise ValueError(
                f"weights[{number}] must have shape {expected.shape}; got {np.shape(array)} "
                f"({expected.role} weights of layer {expected.layer})"
            )
        array = np.asarray(array, dtype=np.float64)
        if expected.role == "input":
            layers.append(LayerWeights(array))
        else:
            layers[-1] = layers[-1]._replace(**{expected.role: array})
    return layers


def flat(layers: Sequence[LayerWeights]) -> Tuple[np.ndarray, ...]:
    """The sequence of which these are the layers."""
    return tuple(array for layer in layers for array in layer if array is not None)
