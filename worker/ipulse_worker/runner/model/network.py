"""Converts the network of a spec to the types of `ipulse_ops`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from ipulse_core.op_manifest.layer import op_layers
from ipulse_core.spec.conv_layers import (
    conv_geometries,
    conv_layers,
    dense_layers,
    hidden_sizes,
    input_scale,
    senders_to_dense,
)
from ipulse_core.spec.derived_values import (
    class_count,
    first_capacity,
    input_delays,
    spiking_layers,
)
from ipulse_core.spec.start_weights import CONSTANTS, constant_of, layer_names
from ipulse_ops.conv.layer import ConvLIF
from ipulse_ops.keras import LIFReadout, MultiLIF
from ipulse_ops.keras.conv_network import ConvNetwork
from ipulse_ops.keras.convolution import Convolution
from ipulse_ops.lif.network import LIF, Layer, LeakyReadout, Network, PerNeuron
from ipulse_ops.lif.poplar.attributes import Placement, split_of
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.surrogate import SURROGATES, Surrogate
from ipulse_worker.runner.model.arrays_in_use import DEVIATION, is_standardised, rule_of
from ipulse_worker.runner.model.op_network import OpNetwork
from ipulse_worker.runner.model.stretches import Stretch, stretches_of
from ipulse_worker.runner.op.layer import OpLayer
from ipulse_worker.runner.op.ops import CustomOps

if TYPE_CHECKING:
    from ipulse.spec import AdaptationSpec, Device, ExperimentSpec, IPUs
    from ipulse.spec import Surrogate as SurrogateSpec


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
                getattr(layer, "second_threshold", None) for layer in spiking_layers(spec.network)
            )
        ),
    )


def network_of(spec: ExperimentSpec, limits: Optional[LayerLimits] = None) -> Network:
    """Return the fully connected layers with these limits; the default are the initial ones.

    A leaky readout directly behind convolutions is described as neurons with its constants.
    """
    limits = limits or initial_limits(spec)
    network = spec.network
    before = len(conv_layers(network))
    spiking = [
        _lif(layer, neurons, capacity, second, before)
        for layer, neurons, capacity, second in zip(
            spiking_layers(network)[before:],
            spiking_neurons(spec)[before:],
            limits.capacities[before:],
            limits.second_thresholds[before:],
        )
    ]
    hidden = len(network.layers) - before
    readout: Layer = spiking[-1] if len(spiking) > hidden else _leaky(spec, before)
    if isinstance(readout, LeakyReadout) and not hidden:
        readout = LIF(**vars(readout))
    return _network(spec, senders_to_dense(spec), spiking[:hidden], readout)


def _network(spec: ExperimentSpec, inputs: int, layers: List[LIF], readout: Layer) -> Network:
    network = spec.network
    return Network(
        inputs=inputs,
        layers=tuple(layers),
        readout=readout,
        reset=network.reset,
        reset_gradient=network.reset_gradient,
        delay=_delay(network),
        surrogate=_surrogate(network.surrogate),
        reset_on=network.reset_on,
        # Specs of older jobs lack it.
        truncate=getattr(spec.training, "truncate_steps", None),
    )


def stretch_network(
    spec: ExperimentSpec, stretch: Stretch, limits: Optional[LayerLimits] = None
) -> Network:
    """Return the layers between two custom ops; the last one is described as the readout."""
    limits = limits or initial_limits(spec)
    network, neurons = spec.network, spiking_neurons(spec)
    before = stretch.layers[0] if stretch.layers else len(network.layers)
    layers: List[LIF] = [
        _lif(
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
        readout = _lif(
            network.readout,
            neurons[-1],
            limits.capacities[-1],
            limits.second_thresholds[-1],
            before,
        )
    else:
        readout = _leaky(spec, before)
        if not layers:
            readout = LIF(**vars(readout))
    return _network(spec, stretch.senders, layers, readout)


def convolutions_of(spec: ExperimentSpec, limits: Optional[LayerLimits] = None) -> List[ConvLIF]:
    """Return the convolutions in front of the fully connected layers."""
    limits = limits or initial_limits(spec)
    network = spec.network
    found: List[ConvLIF] = []
    scale = 1.0
    layers = zip(conv_layers(network), conv_geometries(spec), limits.second_thresholds)
    for number, (layer, geometry, second) in enumerate(layers):
        found.append(
            ConvLIF(
                geometry=geometry,
                decay=layer.decay,
                threshold=layer.threshold,
                second_threshold=None if second is None else float(second),
                gain=layer.gain,
                bias=layer.bias,
                input_scale=scale,
                reset=network.reset,
                reset_gradient=network.reset_gradient,
                delay=network.delay if number else 0,
                surrogate=_surrogate(network.surrogate),
            )
        )
        scale = input_scale(layer)
    return found


def scale_behind_convolutions(spec: ExperimentSpec) -> float:
    """Return the factor of the weights behind the last convolution, 1 without one."""
    convolutions = conv_layers(spec.network)
    return input_scale(convolutions[-1]) if convolutions else 1.0


def keras_network(
    spec: ExperimentSpec, limits: LayerLimits, threads: int, ops: Optional[CustomOps] = None
) -> Union[MultiLIF, ConvNetwork, OpNetwork]:
    """Return the network as a Keras layer. `ops` runs its custom ops, if it has any."""
    if ops is not None:
        return _op_network(spec, limits, threads, ops)
    convolutions = convolutions_of(spec, limits)
    if not convolutions:
        return _dense_network(spec, limits, threads)
    rest: Union[MultiLIF, LIFReadout]
    scale = scale_behind_convolutions(spec)
    if dense_layers(spec.network) or spec.network.readout.kind == "spiking":
        rest = _dense_network(spec, limits, threads, input_scale=scale)
    else:
        rest = LIFReadout(
            senders_to_dense(spec),
            _leaky(spec),
            delay=spec.network.delay,
            threads=threads,
            input_scale=scale,
            quantisation=rule_of(spec.network.readout),
            standardised=is_standardised(spec.network.readout),
            name="readout",
        )
    return ConvNetwork(
        [
            Convolution(
                neurons,
                threads=threads,
                quantisation=rule_of(layer),
                name=f"convolution_{number}",
            )
            for number, (neurons, layer) in enumerate(
                zip(convolutions, conv_layers(spec.network)), start=1
            )
        ],
        rest,
        name="convolutional_network",
    )


def _op_network(
    spec: ExperimentSpec, limits: LayerLimits, threads: int, ops: CustomOps
) -> OpNetwork:
    parts: List[Union[MultiLIF, LIFReadout, OpLayer]] = []
    for number, stretch in enumerate(stretches_of(spec), start=1):
        if stretch.is_op:
            (index,) = stretch.layers
            parts.append(OpLayer(ops, index, stretch.senders, spiking_neurons(spec)[index]))
        elif stretch.layers or spec.network.readout.kind == "spiking":
            network = stretch_network(spec, stretch, limits)
            layers: List[Any] = [spec.network.layers[index] for index in stretch.layers]
            if stretch.has_readout:
                layers.append(spec.network.readout)
            part = _multi_lif(spec, network, layers, threads, name=f"network_{number}")
            parts.append(part)
        else:
            readout = LIFReadout(
                stretch.senders,
                _leaky(spec),
                threads=threads,
                quantisation=rule_of(spec.network.readout),
                standardised=is_standardised(spec.network.readout),
                name="readout",
                **_backend(spec.device),
            )
            parts.append(readout)
    return OpNetwork(parts, spec.network.delay, name="network_with_ops")


def _dense_network(
    spec: ExperimentSpec, limits: LayerLimits, threads: int, **options: Any
) -> MultiLIF:
    layers = [*dense_layers(spec.network), spec.network.readout]
    return _multi_lif(spec, network_of(spec, limits), layers, threads, **options)


def _multi_lif(
    spec: ExperimentSpec,
    network: Network,
    layers: Sequence[Any],
    threads: int,
    name: str = "network",
    **options: Any,
) -> MultiLIF:
    """Return a network as a Keras layer; `layers` are its layers and readout in the spec."""
    return MultiLIF(
        inputs=network.inputs,
        layers=network.layers,
        readout=network.readout,
        reset=network.reset,
        reset_gradient=network.reset_gradient,
        reset_on=network.reset_on,
        delay=network.delay,
        surrogate=network.surrogate,
        truncate=network.truncate,
        trainable=spec.network.trainable,
        threads=threads,
        seed=spec.seed,
        quantisation=[rule_of(layer) for layer in layers],
        standardised=[is_standardised(layer) for layer in layers],
        return_membranes=_bounds_membranes(spec),
        name=name,
        **_backend(spec.device),
        **options,
    )


def _bounds_membranes(spec: ExperimentSpec) -> bool:
    """Return whether a regulariser needs the membranes of hidden layers."""
    return any(bound.kind == "membrane" for bound in spec.training.regularisers)


def _backend(device: Device) -> Dict[str, Any]:
    """Return the arguments of MultiLIF that select its back end."""
    if device.kind == "cpu":
        return {"memory": device.memory, "weights_dtype": device.weights_dtype}
    found: Dict[str, Any] = {
        "backend": device.kind,
        "placement": placement_of(device),
        "memory": getattr(device, "memory", "slots"),  # specs of 0.2.0 lack the field
    }
    if device.kind == "emulator":
        found["tiles_per_ipu"] = device.tiles
    return found


def placement_of(device: IPUs) -> Placement:
    """Return the placement of the network on tiles."""
    return Placement(device.mapping, device.ipus, device.split)


def placed(spec: ExperimentSpec, device: IPUs) -> Dict[str, str]:
    """Return the placement as it is shown in a job's documents."""
    split = "layers"  # a network with custom ops is on one IPU
    if not op_layers(spec.network):
        split = split_of(network_of(spec), placement_of(device))
    return {"mapping": device.mapping, "split": split}


def spiking_neurons(spec: ExperimentSpec) -> List[int]:
    """Return the numbers of neurons of the spiking layers."""
    neurons = hidden_sizes(spec)
    return [*neurons, class_count(spec.data)][: len(spiking_layers(spec.network))]


def spiking_names(spec: ExperimentSpec) -> List[str]:
    """Return the names of the spiking layers in metric keys: 1, 2, ... and "readout"."""
    names = [str(number) for number in range(1, len(spec.network.layers) + 1)]
    return [*names, "readout"][: len(spiking_layers(spec.network))]


def trained_names(spec: ExperimentSpec) -> List[str]:
    """Return the names of the trained arrays.

    These are the weights, then the trained constants, such as layer_1_decay, then the deviations of
    standardised weights.
    """
    network = spec.network
    layers = list(zip(layer_names(network), [*network.layers, network.readout]))
    constants = [
        f"{name}_{constant}"
        for constant in CONSTANTS
        if constant in network.trainable
        for name, layer in layers
        if constant_of(layer, constant) is not None
    ]
    deviations = [f"{name}{DEVIATION}" for name, layer in layers if is_standardised(layer)]
    return [*weight_names(spec), *constants, *deviations]


def is_frozen(spec: ExperimentSpec, name: str) -> bool:
    """Return whether one of `trained_names` belongs to a layer that is not trained."""
    network = spec.network
    return any(
        not getattr(layer, "trainable", True)
        and (name == layer_name or name.startswith(f"{layer_name}_"))
        for layer_name, layer in zip(layer_names(network), [*network.layers, network.readout])
    )


def weight_names(spec: ExperimentSpec) -> List[str]:
    """Return the weights' names, such as layer_1, layer_1_recurrent, layer_1_bias and readout.

    Their order is that of ipulse_ops.lif.weights.weight_shapes, behind the convolutions.
    """
    layers = layer_names(spec.network)
    found: List[str] = []
    if op_layers(spec.network):
        for stretch in stretches_of(spec):
            if stretch.is_op:
                continue
            names = [layers[index] for index in stretch.layers]
            names += ["readout"] if stretch.has_readout else []
            found += _names(stretch_network(spec, stretch), names)
        return found
    before = conv_layers(spec.network)
    for name, layer in zip(layers, before):
        found += [name, f"{name}_bias"] if layer.bias else [name]
    return found + _names(network_of(spec), layers[len(before) :])


def _names(network: Network, layers: List[str]) -> List[str]:
    return [
        layers[shape.layer] + ("" if shape.role == "input" else f"_{shape.role}")
        for shape in weight_shapes(network)
    ]


def per_neuron(value: Union[float, Tuple[float, ...]]) -> PerNeuron:
    """Convert a constant of a spec, which has one value or one per neuron."""
    return np.array(value) if isinstance(value, tuple) else value


def _delay(network: Any) -> Union[int, Tuple[int, ...]]:
    """Return the delay from layer to layer, or those of all layers' inputs if a layer has one."""
    layers = [*network.layers, network.readout]
    if all(getattr(layer, "delay", None) is None for layer in layers):
        delay: int = network.delay
        return delay
    return tuple(input_delays(network))


def _lif(
    layer: Any, neurons: int, capacity: Optional[int], second: Optional[PerNeuron], before: int
) -> LIF:
    return LIF(
        **_integrator(layer, neurons, before),
        threshold=per_neuron(layer.threshold),
        second_threshold=second,
        capacity=capacity,
        recurrent=layer.recurrent,
        policy=layer.policy,
        **_adaptation(layer.adaptation),
    )


def _adaptation(adaptation: Optional[AdaptationSpec]) -> Dict[str, Any]:
    if adaptation is None:
        return {}
    return {
        "adaptation_strength": per_neuron(adaptation.strength),
        "adaptation_decay": per_neuron(adaptation.decay),
        "detach_adaptation": adaptation.detach,
    }


def _leaky(spec: ExperimentSpec, before: int = 0) -> LeakyReadout:
    return LeakyReadout(**_integrator(spec.network.readout, class_count(spec.data), before))


def _integrator(layer: Any, neurons: int, before: int) -> Dict[str, Any]:
    """Return the fields of a layer behind `before` convolutions."""
    synapse = layer.synapse_decay
    return {
        "neurons": neurons,
        "decay": per_neuron(layer.decay),
        "gain": layer.gain,
        "bias": layer.bias,
        "synapse_decay": None if synapse is None else per_neuron(synapse),
        # Specs of 0.2.0 lack these fields.
        "dropout": getattr(layer, "dropout", 0.0),
        "residual": tuple(number - 1 - before for number in getattr(layer, "residual", ())),
    }


def _surrogate(shape: SurrogateSpec) -> Surrogate:
    fields = vars(shape)
    return SURROGATES[shape.name](**{name: fields[name] for name in fields if name != "name"})
