"""A network's weights: a flat sequence of arrays, and the same by layer and role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ipulse_ops.lif.network import LIF, Network


@dataclass(frozen=True)
class WeightShape:
    """The description of one array of the sequence."""

    layer: int  # number of the layer; the readout follows the hidden layers
    role: str  # "input", "recurrent", "bias" or "delays"
    shape: Tuple[int, ...]  # [from, to] of a matrix, [neurons] of a bias; delays have either

    @property
    def is_matrix(self) -> bool:
        """True for weights that may be rounded or quantised: neither a bias nor delays."""
        return self.role in ("input", "recurrent")


class LayerWeights(NamedTuple):
    """The arrays of one layer, float64, None for weights that it does not have."""

    input: np.ndarray  # [N_in, neurons]
    recurrent: Optional[np.ndarray] = None  # [neurons, neurons], row = the neuron that spiked
    bias: Optional[np.ndarray] = None  # [neurons]
    delays: Optional[np.ndarray] = None  # [N_in, neurons] of synapses, [N_in] of senders


def weight_shapes(network: Network) -> Tuple[WeightShape, ...]:
    """Return the arrays of a network in order.

    For each layer and the readout: the input weights, then recurrent weights, bias and delays, if
    any.
    """
    shapes: List[WeightShape] = []
    sizes = network.sizes
    for number, layer in enumerate((*network.layers, network.readout)):
        n_in, neurons = sizes[number : number + 2]
        shapes.append(WeightShape(number, "input", (n_in, neurons)))
        if isinstance(layer, LIF) and layer.recurrent:
            shapes.append(WeightShape(number, "recurrent", (neurons, neurons)))
        if layer.bias:
            shapes.append(WeightShape(number, "bias", (neurons,)))
        if layer.delays is not None:
            shapes.append(WeightShape(number, "delays", layer.delays.shape(n_in, neurons)))
    return tuple(shapes)


def check_shapes(network: Network, shapes: Sequence[Optional[Tuple[Optional[int], ...]]]) -> None:
    """Check the number and shapes of weights; None stands for an unknown shape or size.

    Raises ValueError if they differ from `weight_shapes(network)`.
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
        kinds = {"bias": "the bias", "delays": "the delays"}
        kind = kinds.get(weight.role, f"{weight.role} weights")
        raise ValueError(
            f"weights[{number}] must have shape {weight.shape}; got {found} "
            f"({kind} of layer {weight.layer + 1})"
        )


def by_layer(network: Network, weights: Sequence[np.ndarray]) -> List[LayerWeights]:
    """Return the weights of each layer and the readout.

    Raises ValueError if their number or shapes differ from `weight_shapes(network)`.
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
    """Return the flat sequence of the layers' weights."""
    return tuple(array for layer in layers for array in layer if array is not None)
