"""The network of a spec as a Keras layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Union

from ipulse_core.spec.composed_layers import is_composed_convolution, runs_composed
from ipulse_core.spec.conv_layers import (
    conv_geometries,
    conv_layers,
    dense_layers,
    scale_before,
    senders_to_dense,
)
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_values import reads_hidden_membranes
from ipulse_core.spec.start_weights import trained_constants
from ipulse_core.spec.stretches import Stretch, runs_in_parts, stretches_of
from ipulse_ops.keras import LIFReadout, MultiLIF
from ipulse_ops.keras.convolutions.composed import ComposedConvolution
from ipulse_ops.keras.convolutions.composed_of_spec import composed_of_spec
from ipulse_ops.keras.convolutions.conv_network import ConvNetwork
from ipulse_ops.keras.convolutions.convolution import Convolution
from ipulse_ops.keras.equations_layer import EquationsConvolution, EquationsLayer
from ipulse_ops.keras.part_network import OnPart
from ipulse_ops.lif.network import Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.attributes import split_of
from ipulse_ops.lif.slot_lists import sorted_lists
from ipulse_ops.neuron_package.keras_layer import PackageLayer
from ipulse_worker.runner.model.arrays_in_use import is_standardised, rule_of
from ipulse_worker.runner.model.equations import equations_of
from ipulse_worker.runner.model.ipu_op_layer import IPUOpLayer
from ipulse_worker.runner.model.layers_of_spec import (
    connection_delays_of,
    leaky_of,
    surrogate_of,
)
from ipulse_worker.runner.model.network import (
    LayerLimits,
    convolution_of,
    network_of,
    scale_behind_convolutions,
    spiking_neurons,
    stretch_network,
)
from ipulse_worker.runner.model.op_layer import OpLayer
from ipulse_worker.runner.model.op_network import OpNetwork, Part
from ipulse_worker.runner.user_code.ops.ops import CustomOps
from ipulse_worker.runner.user_code.packages import neurons_of

if TYPE_CHECKING:
    from ipulse.spec import Device, ExperimentSpec, IPUs


def keras_network(
    spec: ExperimentSpec,
    limits: LayerLimits,
    threads: int,
    ops: Optional[CustomOps] = None,
    on_part: OnPart = lambda number: None,
) -> Union[MultiLIF, ConvNetwork, OpNetwork]:
    """Return the network as a Keras layer.

    ops: runs its custom ops, if it has any.
    on_part: called with the number of each of its programs on tiles, from 0, before it is traced.
    """
    if runs_composed(spec):
        return OpNetwork(
            _parts(spec, limits, threads, ops),
            stretches_of(spec),
            on_part,
            sorted_lists if spec.device.kind != "cpu" else None,
            name="network_of_parts",
        )
    convolutions = len(conv_layers(spec.network))
    if not convolutions:
        whole = _dense_network(spec, limits, threads)
        whole.on_layer = on_part
        return whole
    rest: Union[MultiLIF, LIFReadout]
    scale = scale_behind_convolutions(spec)
    if dense_layers(spec.network) or spec.network.readout.kind == "spiking":
        rest = _dense_network(spec, limits, threads, input_scale=scale)
    else:
        rest = LIFReadout(
            senders_to_dense(spec),
            leaky_of(spec),
            delay=input_delays(spec.network)[-1],
            threads=threads,
            input_scale=scale,
            quantisation=rule_of(spec.network.readout),
            standardised=is_standardised(spec.network.readout),
            name="readout",
            **_backend(spec.device),
        )
    return ConvNetwork(
        [_fused_convolution(spec, index, limits, threads) for index in range(convolutions)],
        rest,
        on_part,
        name="convolutional_network",
    )


def _parts(
    spec: ExperimentSpec, limits: LayerLimits, threads: int, ops: Optional[CustomOps]
) -> List[Part]:
    parts: List[Part] = []
    hidden = len(spec.network.layers)
    for number, stretch in enumerate(stretches_of(spec), start=1):
        scale = scale_before(spec, stretch.layers[0] if stretch.layers else hidden)
        if stretch.is_equations or stretch.is_conv or stretch.is_package:
            parts.append(_single_part(spec, stretch, limits, threads, scale))
        elif stretch.is_op:
            assert ops is not None  # noqa: S101 - the attempt unpacked them
            (index,) = stretch.layers
            layer = IPUOpLayer if spec.device.kind == "ipu" else OpLayer
            slots = _slots_of(spec, index, limits)
            parts.append(layer(ops, index, stretch.senders, spiking_neurons(spec)[index], **slots))
        elif stretch.layers or spec.network.readout.kind == "spiking":
            network = stretch_network(spec, stretch, limits)
            layers: List[Any] = [spec.network.layers[index] for index in stretch.layers]
            if stretch.has_readout:
                layers.append(spec.network.readout)
            name = f"network_{number}"
            part = _multi_lif(spec, network, layers, threads, name, input_scale=scale)
            parts.append(part)
        else:
            readout = LIFReadout(
                stretch.senders,
                leaky_of(spec, hidden),
                threads=threads,
                truncate=spec.training.truncate_steps,
                quantisation=rule_of(spec.network.readout),
                standardised=is_standardised(spec.network.readout),
                trainable=[trained_constants(spec.network, spec.network.readout)],
                input_scale=scale,
                name="readout",
                **_backend(spec.device),
            )
            parts.append(readout)
    return parts


def _single_part(
    spec: ExperimentSpec, stretch: Stretch, limits: LayerLimits, threads: int, scale: float
) -> Part:
    """Return a layer with own neurons or a convolution; `scale` is the factor of its weights."""
    (index,) = stretch.layers
    described: Any = spec.network.layers[index]
    if stretch.is_package:
        own = neurons_of(spec, index)
        name = f"layer_{index + 1}"
        return PackageLayer(
            *(stretch.senders, own, described.bias, scale),
            truncate=spec.training.truncate_steps,
            quantisation=rule_of(described),
            standardised=is_standardised(described),
            weights_dtype=field_of(spec.device, "weights_dtype"),
            delays=connection_delays_of(described),
            name=name,
            **_slots_of(spec, index, limits),
        )
    if not stretch.is_equations:
        return _convolution(spec, index, limits, threads)
    equations = equations_of(spec, index)
    options: Dict[str, Any] = {
        "bias": described.bias,
        "tiles": spec.device.tiles if spec.device.kind == "emulator" else None,
        **_weights_of(spec, index, threads),
        **_slots_of(spec, index, limits),
        "input_scale": scale,
        "delays": connection_delays_of(described),
        "name": f"layer_{index + 1}",
    }
    if stretch.is_conv:
        return EquationsConvolution(conv_geometries(spec)[index], equations, **options)
    return EquationsLayer(stretch.senders, equations, **options)


def _convolution(
    spec: ExperimentSpec, index: int, limits: LayerLimits, threads: int
) -> Union[Convolution, ComposedConvolution]:
    if not is_composed_convolution(spec, index):
        return _fused_convolution(spec, index, limits, threads)
    surrogate = surrogate_of(spec.network.surrogate)
    return composed_of_spec(
        spec,
        index,
        surrogate,
        tiles=spec.device.tiles if spec.device.kind == "emulator" else None,
        delays=connection_delays_of(spec.network.layers[index]),
        **_weights_of(spec, index, threads),
        **_slots_of(spec, index, limits),
    )


def _fused_convolution(
    spec: ExperimentSpec, index: int, limits: LayerLimits, threads: int
) -> Convolution:
    device = spec.device
    backend: Dict[str, Any] = {} if device.kind == "cpu" else {"backend": device.kind}
    if device.kind == "emulator":
        backend["tiles_per_ipu"] = device.tiles
    return Convolution(
        convolution_of(spec, index, limits),
        name=f"convolution_{index + 1}",
        **_weights_of(spec, index, threads),
        **backend,
    )


def _weights_of(spec: ExperimentSpec, index: int, threads: int) -> Dict[str, Any]:
    layer = spec.network.layers[index]
    return {
        "threads": threads,
        "quantisation": rule_of(layer),
        "standardised": is_standardised(layer),
        "weights_dtype": field_of(spec.device, "weights_dtype"),
    }


def _slots_of(spec: ExperimentSpec, index: int, limits: LayerLimits) -> Dict[str, Any]:
    """Return the arguments of a layer of equations that limit the spikes that it sends."""
    layer, capacity = spec.network.layers[index], limits.capacities[index]
    if capacity is None:
        return {}
    return {"capacity": capacity, "policy": field_of(layer, "policy"), "seed": spec.seed}


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
        trainable=[trained_constants(spec.network, layer) for layer in layers],
        threads=threads,
        seed=spec.seed,
        quantisation=[rule_of(layer) for layer in layers],
        standardised=[is_standardised(layer) for layer in layers],
        return_membranes=reads_hidden_membranes(spec),
        name=name,
        **_backend(spec.device),
        **options,
    )


def _backend(device: Device) -> Dict[str, Any]:
    """Return the arguments of MultiLIF that select its back end."""
    if device.kind == "cpu":
        return {"memory": device.memory, "weights_dtype": device.weights_dtype}
    found: Dict[str, Any] = {
        "backend": device.kind,
        "placement": placement_of(device),
        "memory": field_of(device, "memory"),
    }
    if has_half_states(device):
        found["states_dtype"] = device.states_dtype
        found["stochastic_rounding"] = device.stochastic_rounding
    if device.kind == "emulator":
        found["tiles_per_ipu"] = device.tiles
    return found


def has_half_states(device: Device) -> bool:
    """Return whether states are float16 between steps."""
    return bool(field_of(device, "states_dtype") == "float16")


def placement_of(device: IPUs) -> Placement:
    """Return the placement of the network on tiles."""
    return Placement(device.mapping, device.ipus, device.split)


def placed(spec: ExperimentSpec, device: IPUs) -> Dict[str, str]:
    """Return the placement as it is shown in a job's documents."""
    split = "layers"  # a network of parts is on one IPU
    if not runs_in_parts(spec.network):
        split = split_of(network_of(spec), placement_of(device))
    return {"mapping": device.mapping, "split": split}
