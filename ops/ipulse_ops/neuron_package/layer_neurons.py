"""The neurons of a layer from a package: their number and the values of their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

import numpy as np

from ipulse_core.equations.neuron import NeuronParameter
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.spec.neuron_packages import parameter_problems
from ipulse_ops.neuron_package.calls import PackageCalls
from ipulse_ops.neuron_package.loading import LoadedPackage


@dataclass(frozen=True)
class PackageNeuron:
    """A neuron of a package, as layers with equations describe theirs."""

    name: str  # NAME@sha256:DIGEST
    parameters: Tuple[NeuronParameter, ...]
    states: Tuple[str, ...] = ()  # the package has them

    @property
    def trained(self) -> Tuple[NeuronParameter, ...]:
        """The parameters that training changes."""
        return tuple(parameter for parameter in self.parameters if parameter.is_trained)


@dataclass(frozen=True)
class LayerNeurons:
    """A layer of equal neurons of a package."""

    neuron: PackageNeuron
    neurons: int
    calls: PackageCalls
    recurrent: bool = False
    filters: Optional[int] = None
    gate: Optional[float] = None
    shows_membranes: bool = False

    @property
    def recurrent_weights(self) -> Tuple[int, ...]:
        """The shape of the recurrent weights, by sender and receiver."""
        return self.neurons, self.neurons

    def values(self) -> Dict[str, np.ndarray]:
        """Return the parameters in float64: `[neurons]`, or `[1]` of the layer."""
        return {
            each.name: np.array(
                np.broadcast_to(
                    np.asarray(each.value, np.float64),
                    (self.neurons if each.is_per_neuron else 1,),
                )
            )
            for each in self.neuron.parameters
        }


def layer_neurons(
    loaded: LoadedPackage, described: Any, neurons: int, recurrent: bool = False
) -> LayerNeurons:
    """Return the neurons of a layer of a spec.

    described: `neuron` of the layer: the document that the runner reads.
    recurrent: whether the layer receives its own spikes.

    Raises InvalidInput if its parameters do not fit the package.
    """
    declared = loaded.description.parameters
    problems = list(parameter_problems(declared, described))
    if problems:
        pointers = [Problem(f"/neuron{each.pointer}", each.code, each.detail) for each in problems]
        raise InvalidInput(pointers, f"{described.package} has other parameters.")
    given = {each.name: each for each in described.parameters}
    parameters = []
    for known in declared:
        own = given.get(known.name)
        value = known.default if own is None or own.value is None else own.value
        parameters.append(
            NeuronParameter(
                known.name,
                tuple(value) if isinstance(value, (list, tuple)) else float(value),
                known.minimum,
                known.maximum,
                known.per_neuron if own is None else own.per == "neuron",
                own is not None and own.trainable,
            )
        )
    neuron = PackageNeuron(loaded.description.package, tuple(parameters))
    return LayerNeurons(neuron, neurons, PackageCalls(loaded.neurons), recurrent)
