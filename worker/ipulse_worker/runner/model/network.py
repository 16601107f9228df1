"""A spec's network in the words of the ops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

import numpy as np

from ipulse_core.derived_values import class_count, first_capacity, input_channels, spiking_layers
from ipulse_ops.keras import MultiLIF
from ipulse_ops.keras.network_layer import CONSTANTS
from ipulse_ops.lif.network import LIF, Layer, LeakyReadout, Network, PerNeuron
from ipulse_ops.lif.poplar.attributes import Placement, split_of
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.surrogate import SURROGATES, Surrogate

if TYPE_CHECKING:
    from ipulse.spec import Device, ExperimentSpec, IPUs
    from ipulse.spec import Surrogate as SurrogateSpec


@dataclass(frozen=True)
class LayerLimits:
    """What of a network may change between two training steps, of each layer that spikes."""

    capacities: Tuple[Optional[int], ...]
    second_thresholds: Tuple[Optional[PerNeuron], ...]

    def equals(self, other: LayerLimits) -> bool:
        return self.capacities == other.capacities and all(
            one is two or (one is not None and two is not None and np.array_equal(one, two))
            for one, two in zip(self.second_thresholds, other.second_thresholds)
        )


def initial_limits(spec: ExperimentSpec) -> LayerLimits:
    """The capacities that training begins with, and the second thresholds that it ends with."""
    return LayerLimits(
        capacities=tuple(first_capacity(layer) for layer in spiking_layers(spec.network)),
        second_thresholds=tuple(
            None if layer.second_threshold is None else per_neuron(layer.second_threshold)
            for layer in spiking_layers(spec.network)
        ),
    )


def network_of(spec: ExperimentSpec, limits: Optional[LayerLimits] = None) -> Network:
    """The network as it is with these limits, or else the first ones."""
    limits = limits or initial_limits(spec)
    network = spec.network
    spiking = [
        _lif(layer, neurons, capacity, second)
        for layer, neurons, capacity, second in zip(
            spiking_layers(network),
            spiking_neurons(spec),
            limits.capacities,
            limits.second_thresholds,
        )
    ]
    hidden = len(network.layers)
    readout: Layer = spiking[-1] if len(spiking) > hidden else _leaky(spec)
    return Network(
        inputs=input_channels(spec.data),
        layers=tuple(spiking[:hidden]),
        readout=readout,
        reset=network.reset,
        reset_gradient=network.reset_gradient,
        delay=network.delay,
        surrogate=_surrogate(network.surrogate),
        reset_on=network.reset_on,
    )


def keras_network(spec: ExperimentSpec, limits: LayerLimits, threads: int) -> MultiLIF:
    """The network as a Keras layer."""
    network = network_of(spec, limits)
    return MultiLIF(
        inputs=network.inputs,
        layers=network.layers,
        readout=network.readout,
        reset=network.reset,
        reset_gradient=network.reset_gradient,
        reset_on=network.reset_on,
        delay=network.delay,
        surrogate=network.surrogate,
        trainable=spec.network.trainable,
        threads=threads,
        seed=spec.seed,
        name="network",
        **_backend(spec.device),
    )


def _backend(device: Device) -> Dict[str, Any]:
    """What runs a MultiLIF, in its words."""
    if device.kind == "cpu":
        return {"memory": device.memory, "weights_dtype": device.weights_dtype}
    found: Dict[str, Any] = {
        "backend": device.kind,
        "placement": placement_of(device),
    }
    if device.kind == "emulator":
        found["tiles_per_ipu"] = device.tiles
    return found


def placement_of(device: IPUs) -> Placement:
    """Where the Poplar op puts the network."""
    return Placement(device.mapping, device.ipus, device.split)


def placed(spec: ExperimentSpec, device: IPUs) -> Dict[str, str]:
    """What a job's documents say of it."""
    split = split_of(network_of(spec), placement_of(device))
    return {"mapping": device.mapping, "split": split}


def spiking_neurons(spec: ExperimentSpec) -> List[int]:
    """Neurons of each layer that spikes."""
    neurons = [layer.neurons for layer in spec.network.layers]
    return [*neurons, class_count(spec.data)][: len(spiking_layers(spec.network))]


def spiking_names(spec: ExperimentSpec) -> List[str]:
    """1, 2, ... of the hidden layers, and "readout" of a readout that spikes: in figures' names."""
    names = [str(number) for number in range(1, len(spec.network.layers) + 1)]
    return [*names, "readout"][: len(spiking_layers(spec.network))]


def trained_names(spec: ExperimentSpec) -> List[str]:
    """As `weight_names`, then layer_1_decay, ... of the constants that are trained."""
    layers = [f"layer_{number}" for number in range(1, len(spec.network.layers) + 1)]
    constants = [
        f"{name}_{constant}"
        for constant in CONSTANTS
        if constant in spec.network.trainable
        for name, layer in zip([*layers, "readout"], [*spec.network.layers, spec.network.readout])
        if getattr(layer, constant, None) is not None
    ]
    return [*weight_names(spec), *constants]


def weight_names(spec: ExperimentSpec) -> List[str]:
    """layer_1, layer_1_recurrent, layer_1_bias, ..., readout: of the arrays that are trained, in
    the order of ipulse_ops.lif.weights.weight_shapes."""
    layers = [f"layer_{number}" for number in range(1, len(spec.network.layers) + 1)]
    layers.append("readout")
    return [
        layers[shape.layer] + ("" if shape.role == "input" else f"_{shape.role}")
        for shape in weight_shapes(network_of(spec))
    ]


def per_neuron(value: Union[float, Tuple[float, ...]]) -> PerNeuron:
    return np.array(value) if isinstance(value, tuple) else value


def _lif(layer: Any, neurons: int, capacity: Optional[int], second: Optional[PerNeuron]) -> LIF:
    return LIF(
        **_integrator(layer, neurons),
        threshold=per_neuron(layer.threshold),
        second_threshold=second,
        capacity=capacity,
        recurrent=layer.recurrent,
        policy=layer.policy,
    )


def _leaky(spec: ExperimentSpec) -> LeakyReadout:
    return LeakyReadout(**_integrator(spec.network.readout, class_count(spec.data)))


def _integrator(layer: Any, neurons: int) -> Dict[str, Any]:
    synapse = layer.synapse_decay
    return {
        "neurons": neurons,
        "decay": per_neuron(layer.decay),
        "gain": layer.gain,
        "bias": layer.bias,
        "synapse_decay": None if synapse is None else per_neuron(synapse),
    }


def _surrogate(shape: SurrogateSpec) -> Surrogate:
    fields = vars(shape)
    return SURROGATES[shape.name](**{name: fields[name] for name in fields if name != "name"})
