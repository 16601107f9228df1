"""LIF neurons as equations: what runs them behind connections that are an op of their own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Dict, List, Optional, Sequence, Set

import numpy as np

from ipulse_core.equations.neuron import NeuronEquations, read_neuron, with_membrane
from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.lif.layer_constants import constants
from ipulse_ops.lif.network import LIF
from ipulse_ops.surrogate import Surrogate

# Names in equations of the arrays of constants.
PARAMETERS = {
    "decay": "alpha",
    "scale": "gain",
    "threshold": "theta",
    "synapse_decay": "slow",
    "adaptation_decay": "rho",
    "adaptation_strength": "beta",
}
# The membrane after a step, by the reset and what is constant in its gradient.
_RESETS = {
    ("zero", "mask"): "where(r, 0, u)",
    ("zero", "term"): "u + detach(where(r, 0, u) - u)",
    ("zero", "none"): "(1 - r) * u",
    ("subtract", "mask"): "u - detach(r) * {threshold}",
    ("subtract", "term"): "u - detach(r * {threshold})",
    ("subtract", "none"): "u - r * {threshold}",
}


def lif_equations(
    neurons: LIF,
    count: int,
    reset: str,
    reset_gradient: str,
    surrogate: Surrogate,
    truncate: Optional[int] = None,
    trained: Sequence[str] = (),
    shows_membranes: bool = False,
    own: Optional[ConvGeometry] = None,
) -> LayerEquations:
    """Return a layer of `count` LIF neurons that repeat the given ones, such as those of filters.

    reset, reset_gradient, truncate: as of ipulse_ops.lif.network.Network.
    trained: names of the constants that are trained.
    shows_membranes: as of LayerEquations.
    own: the convolution of the layer's own spikes; None: it receives none.

    Raises ValueError for a second threshold that is not as far below the threshold in each neuron.
    """
    arrays = {name: array for name, array in vars(constants(neurons)).items() if array is not None}
    second = arrays.pop("second_threshold", None)
    gate = None
    if second is not None:
        distances = np.unique(second - arrays["threshold"])
        if len(distances) > 1 or "threshold" in trained:
            raise ValueError(
                "a second threshold behind connections of their own needs one distance from the "
                "threshold: use one threshold for the layer, which is not trained"
            )
        gate = float(distances[0])
    moving = {*trained, *(["scale"] if "decay" in trained else [])}
    equations = _equations(neurons, arrays, moving, reset, reset_gradient)
    if shows_membranes:
        equations = with_membrane(equations)
    return LayerEquations(
        equations,
        count,
        surrogate,
        truncate,
        recurrent=own is not None,
        gate=gate,
        filters=neurons.neurons,
        own=own,
    )


def _equations(
    neurons: LIF, arrays: Dict[str, np.ndarray], trained: Set[str], reset: str, reset_gradient: str
) -> NeuronEquations:
    """Return the equations of neurons with these constants, float32 `[neurons]` by name."""
    entering, threshold, states = "I", "theta", []
    if neurons.synapse_decay is not None:
        entering = "new(i)"
        states.append(_state("i", update="slow * i + (1 - slow) * I"))
    if neurons.adapts:
        threshold = "(theta + beta * b)"
        raising = "detach(r)" if neurons.detach_adaptation else "r"
        states.append(_state("b", reset=f"rho * b + {raising}"))
    after = _RESETS.get((reset, reset_gradient))
    after = None if after is None else after.format(threshold=threshold)
    states.insert(0, _state("u", update=f"alpha * u + gain * {entering}", reset=after))
    return read_neuron(
        SimpleNamespace(
            name="lif",
            states=states,
            parameters=_parameters(arrays, trained),
            spike=f"u - {threshold}",
        )
    )


def _state(name: str, update: Optional[str] = None, reset: Optional[str] = None) -> SimpleNamespace:
    return SimpleNamespace(name=name, initial=0.0, update=update, reset=reset)


def _parameters(arrays: Dict[str, np.ndarray], trained: Set[str]) -> List[SimpleNamespace]:
    return [
        SimpleNamespace(
            name=name,
            value=tuple(float(value) for value in arrays[array]),
            minimum=None,
            maximum=None,
            per="neuron",
            trainable=array in trained,
        )
        for array, name in PARAMETERS.items()
        if array in arrays
    ]
