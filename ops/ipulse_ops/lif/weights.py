"""A network's weights: one flat sequence of arrays, which a layer's part is taken from by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ipulse_ops.lif.network import LIF, Network


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


def check_shapes(network: Network, shapes: Sequence[Optional[Tuple[Optional[int], ...]]]) -> None:
    """Whether weights of these shapes are the network's; None stands for what is not known yet.

    Raises ValueError if their number or a shape is not `weight_shapes(network)`'s.
    """
    expected = weight_shapes(network)
    if len(shapes) != len(expected):
        raise ValueError(f"the network needs {len(expected)} weights; got {len(shapes)}")
    for number, (found, weight) in enumerate(zip(shapes, expected)):
        if found is None or (
            len(found) == len(weight.shape)
            and all(size in (None, wanted) for size, wanted in zip(found, weight.shape))
        ):
            continue
        kind = "the bias" if weight.role == "bias" else f"{weight.role} weights"
        raise ValueError(
            f"weights[{number}] must have shape {weight.shape}; got {found} "
            f"({kind} of layer {weight.layer})"
        )


def by_layer(network: Network, weights: Sequence[np.ndarray]) -> List[LayerWeights]:
    """The weights of each layer and the readout.

    Raises ValueError if their number or a shape is not `weight_shapes(network)`'s.
    """
    check_shapes(network, [np.shape(array) for array in weights])
    layers: List[LayerWeights] = []
    for array, expected in zip(weights, weight_shapes(network)):
        array = np.asarray(array, dtype=np.float64)
        if expected.role == "input":
            layers.append(LayerWeights(array))
        else:
            layers[-1] = layers[-1]._replace(**{expected.role: array})
    return layers


def flat(layers: Sequence[LayerWeights]) -> Tuple[np.ndarray, ...]:
    """The sequence of which these are the layers."""
    return tuple(array for layer in layers for array in layer if array is not None)
