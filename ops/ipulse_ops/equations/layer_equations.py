"""The equations of a layer: its neuron, its size and its surrogate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Dict, Optional, Tuple

import numpy as np

from ipulse_core.equations.adjoint import backward_program
from ipulse_core.equations.neuron import MEMBRANE, NeuronEquations
from ipulse_core.equations.step_program import Instruction, StepProgram, forward_program
from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.equations.surrogates import surrogate_tree
from ipulse_ops.surrogate import SuperSpike, Surrogate


@dataclass(frozen=True)
class LayerEquations:
    """A layer of equal neurons.

    neuron: the equations; if they are `with_membrane`, the layer shows its membranes.
    neurons: how many there are.
    surrogate: the derivative of a spike.
    truncate: the gradient does not pass from a step that is a multiple of it to the step before;
        None: it passes through all.
    recurrent: whether a neuron's input current includes the weights of those that spiked in the
        step before.
    own: the convolution of these spikes in a recurrent convolution; None: each neuron has a weight
        to each.
    gate: neurons with a value of `spike` that is not above it carry no gradient through their
        spike, and are not listed; at most 0. None: all carry it.
    filters: of a convolution; a parameter per neuron then has one value for each of them, which
        neuron n takes at n modulo filters. None: one value for each neuron.
    """

    neuron: NeuronEquations
    neurons: int
    surrogate: Surrogate = SuperSpike()
    truncate: Optional[int] = None
    recurrent: bool = False
    gate: Optional[float] = None
    filters: Optional[int] = None
    own: Optional[ConvGeometry] = None

    @property
    def recurrent_weights(self) -> Tuple[int, ...]:
        """The shape of the recurrent weights: by sender and receiver, or that of a kernel."""
        return (self.neurons, self.neurons) if self.own is None else self.own.weights

    @property
    def shows_membranes(self) -> bool:
        """Whether the last state is the membrane before the reset, which losses may read."""
        return self.neuron.states[-1] == MEMBRANE

    @property
    def forward(self) -> StepProgram:
        """One step."""
        return _forward(self.neuron)

    @property
    def silent(self) -> StepProgram:
        """One step without spikes."""
        instructions = tuple(
            Instruction("constant") if each.operation == "spike" else each
            for each in self.forward.instructions
        )
        return self.forward._replace(instructions=instructions)

    @property
    def backward(self) -> StepProgram:
        """The adjoint of one step."""
        return _backward(self.neuron, self.surrogate, self.gate)

    def values(self) -> Dict[str, np.ndarray]:
        """Return the parameters in float64: `[neurons]`, `[filters]`, or `[1]` of the layer."""
        return {
            each.name: np.array(
                np.broadcast_to(
                    np.asarray(each.value, np.float64),
                    ((self.filters or self.neurons) if each.is_per_neuron else 1,),
                )
            )
            for each in self.neuron.parameters
        }


def spread(values: np.ndarray, neurons: int) -> np.ndarray:
    """Return a parameter's value for each neuron, from those of LayerEquations.values."""
    return np.tile(values, neurons // values.size)


@lru_cache(maxsize=64)
def _forward(neuron: NeuronEquations) -> StepProgram:
    return forward_program(neuron)


@lru_cache(maxsize=64)
def _backward(neuron: NeuronEquations, surrogate: Surrogate, gate: Optional[float]) -> StepProgram:
    trained = [parameter.name for parameter in neuron.trained]
    return backward_program(neuron, surrogate_tree(surrogate, gate), trained)
