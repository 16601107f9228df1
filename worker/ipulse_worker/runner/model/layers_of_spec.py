"""Converts the layers of a spec to the types of `ipulse_ops`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Union

import numpy as np

from ipulse_core.neurons.constants import ROWS
from ipulse_core.spec.derived_values import class_count
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.start_weights import constant_of
from ipulse_ops.lif.connection_delays import ConnectionDelays
from ipulse_ops.lif.network import LIF, LeakyReadout
from ipulse_ops.lif.neuron_constants import PerNeuron
from ipulse_ops.surrogate import SURROGATES, Surrogate

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec
    from ipulse.spec import Surrogate as SurrogateSpec


def per_neuron(value: Union[float, Tuple[float, ...]]) -> PerNeuron:
    """Convert a constant of a spec, which has one value or one per neuron."""
    return np.array(value) if isinstance(value, tuple) else value


def lif_of(
    layer: Any, neurons: int, capacity: Optional[int], second: Optional[PerNeuron], before: int
) -> LIF:
    """Return the neurons of a spiking layer behind `before` convolutions."""
    return LIF(
        **{**_integrator(layer, neurons, before), "second_threshold": second},
        capacity=capacity,
        recurrent=layer.recurrent,
        policy=layer.policy,
        detach_adaptation=layer.adaptation is not None and layer.adaptation.detach,
    )


def leaky_of(spec: ExperimentSpec, before: int = 0) -> LeakyReadout:
    """Return the leaky readout of a spec behind `before` convolutions."""
    return LeakyReadout(**_integrator(spec.network.readout, class_count(spec.data), before))


def _integrator(layer: Any, neurons: int, before: int) -> Dict[str, Any]:
    """Return the fields of a layer behind `before` convolutions."""
    values = {row.name: constant_of(layer, row.name) for row in ROWS}
    return {
        **{name: per_neuron(value) for name, value in values.items() if value is not None},
        "neurons": neurons,
        "bias": layer.bias,
        "dropout": field_of(layer, "dropout"),
        # Spikes of the layers before are added where they enter.
        "residual": tuple(n - 1 - before for n in field_of(layer, "residual") if n > before),
        "delays": connection_delays_of(layer),
    }


def connection_delays_of(layer: Any) -> Optional[ConnectionDelays]:
    """Return the delays of a layer's connections; None if they have none of their own."""
    delays = field_of(layer, "delays")
    if delays is None:
        return None
    return ConnectionDelays(delays.longest, delays.per, delays.rounded)


def surrogate_of(shape: SurrogateSpec) -> Surrogate:
    """Return the surrogate derivative of a spec."""
    fields = vars(shape)
    return SURROGATES[shape.name](**{name: fields[name] for name in fields if name != "name"})
