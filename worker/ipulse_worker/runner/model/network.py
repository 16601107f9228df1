"""Converts the network of a spec to the types of `ipulse_ops`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Optional, Tuple

import numpy as np

from ipulse_core.spec.composed_layers import runs_composed
from ipulse_core.spec.conv_layers import (
    conv_geometries,
    conv_layers,
    hidden_sizes,
    scale_before,
    senders_to_dense,
)
from ipulse_core.spec.derived_values import (
    class_count,
    first_capacity,
    input_delays,
    spiking_layers,
)
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.stretches import Stretch, delay_within
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.lif.network import LIF, Layer, Network
from ipulse_ops.lif.neuron_constants import PerNeuron
from ipulse_worker.runner.model.layers_of_spec import (
    leaky_of,
    lif_of,
    per_neuron,
    surrogate_of,
)

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


@dataclass(frozen=True)
class LayerLimits:
    """The capacity and second threshold of each spiking layer; both may change in training."""

    capacities: Tuple[Optional[int], ...]
    second_thresholds: Tuple[Optional[PerNeuron], ...]

    def equals(self, other: LayerLimits) -> bool:
        """Compare capacities, and thresholds element by element."""
        return self.capacities == other.capacities and all(
            one is two or (one is not None and two is not None and np.array_equal(one, two))
            for one, two in zip(self.second_thresholds, other.second_thresholds)
        )


def initial_limits(spec: ExperimentSpec) -> LayerLimits:
    """Return the first capacities and the final second thresholds of a training."""
    return LayerLimits(
        capacities=tuple(first_capacity(layer) for layer in spiking_layers(spec.network)),
        second_thresholds=tuple(
            None if second is None else per_neuron(second)
            for second in (
                field_of(layer, "second_threshold") for layer in spiking_layers(spec.network)
            )
        ),
    )


def network_of(spec: ExperimentSpec, limits: Optional[LayerLimits] = None) -> Network:
    """Return the fully connected layers with these limits; the default are the initial ones.

    A leaky readout directly behind convolutions is described as neurons with its constants.
    """
    before, hidden = len(conv_layers(spec.network)), len(spec.network.layers)
    dense = Stretch(
        layers=tuple(range(before, hidden)),
        senders=senders_to_dense(spec),
        is_op=False,
        has_readout=True,
    )
    return stretch_network(spec, dense, limits)


def stretch_network(
    spec: ExperimentSpec, stretch: Stretch, limits: Optional[LayerLimits] = None
) -> Network:
    """Return successive layers; without the readout, the last one is described as the readout."""
    limits = limits or initial_limits(spec)
    network, neurons = spec.network, spiking_neurons(spec)
    before = stretch.layers[0] if stretch.layers else len(network.layers)
    layers: List[LIF] = [
        lif_of(
            network.layers[index],
            neurons[index],
            limits.capacities[index],
            limits.second_thresholds[index],
            before,
        )
        for index in stretch.layers
    ]
    readout: Layer
    if not stretch.has_readout:
        readout = layers.pop()
    elif network.readout.kind == "spiking":
        readout = lif_of(
            network.readout,
            neurons[-1],
            limits.capacities[-1],
            limits.second_thresholds[-1],
            before,
        )
    else:
        readout = leaky_of(spec, before)
        if not layers:
            readout = LIF(**vars(readout))
    return Network(
        inputs=stretch.senders,
        layers=tuple(layers),
        readout=readout,
        reset=network.reset,
        reset_gradient=network.reset_gradient,
        delay=delay_within(
            network,
            [*stretch.layers, *[len(network.layers)] * stretch.has_readout],
            is_part=runs_composed(spec),
        ),
        surrogate=surrogate_of(network.surrogate),
        reset_on=network.reset_on,
        truncate=spec.training.truncate_steps,
    )


def convolutions_of(spec: ExperimentSpec, limits: Optional[LayerLimits] = None) -> List[ConvLIF]:
    """Return the convolutions in front of the fully connected layers."""
    numbers = range(len(conv_layers(spec.network)))
    return [convolution_of(spec, index, limits) for index in numbers]


def convolution_of(
    spec: ExperimentSpec, index: int, limits: Optional[LayerLimits] = None
) -> ConvLIF:
    """Return hidden layer `index`, from 0, which is a convolution with LIF neurons."""
    network = spec.network
    layer: Any = network.layers[index]
    second = (limits or initial_limits(spec)).second_thresholds[index]
    return ConvLIF(
        geometry=conv_geometries(spec)[index],
        decay=layer.decay,
        threshold=layer.threshold,
        second_threshold=None if second is None else float(second),
        gain=layer.gain,
        bias=layer.bias,
        input_scale=scale_before(spec, index),
        reset=network.reset,
        reset_gradient=network.reset_gradient,
        delay=0 if runs_composed(spec) else input_delays(network)[index],
        surrogate=surrogate_of(network.surrogate),
    )


def scale_behind_convolutions(spec: ExperimentSpec) -> float:
    """Return the factor of the weights behind the last convolution, 1 without one."""
    return scale_before(spec, len(conv_layers(spec.network)))


def spiking_neurons(spec: ExperimentSpec) -> List[int]:
    """Return the numbers of neurons of the spiking layers."""
    neurons = hidden_sizes(spec)
    return [*neurons, class_count(spec.data)][: len(spiking_layers(spec.network))]
