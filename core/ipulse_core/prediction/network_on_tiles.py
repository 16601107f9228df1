"""The network of a spec as the Poplar op on tiles sees it, for predictions.

The arguments are `ipulse.spec.ExperimentSpec` and its parts, or the document that the runner reads.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from ipulse_core.equations.loss_program import layers_read, training_program
from ipulse_core.ipu import MK2_TILES
from ipulse_core.spec.conv_layers import hidden_sizes
from ipulse_core.spec.custom_ops import indexed_ops
from ipulse_core.spec.derived_values import (
    class_count,
    first_capacity,
    input_channels,
    loss_name,
    spiking_layers,
    splits_neurons,
)
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_values import reads_hidden_membranes
from ipulse_core.spec.tile_placement import TileLayer, TileNetwork
from ipulse_core.spec.training_equations import needs_equations, training_equations

_FEW_CHANNELS = 128  # of so many, all may spike in one step
_SHARE = 8  # of more channels, one in so many is assumed to spike in one step
_MK1_TILES = 1216
TOO_FEW_TILES = "an IPU has fewer tiles than layers"
OF_PROGRAMS = "its graph is known when its host code has run: the emulator's profile has it"


def why_no_memory(spec: Any) -> Optional[str]:
    """Return why the memory on tiles is not predicted; None if it is, and on a CPU.

    `spec` may be that of a program or script, too.
    """
    if spec.device.kind == "cpu":
        return None
    if spec.kind != "training":
        return OF_PROGRAMS
    if indexed_ops(spec.network):
        return "memory and cycles of custom ops follow from their own code"
    if not spec.data.steps:
        return "data.steps is the number in the files, which a worker looks up"
    return None


def network_on_tiles(spec: Any) -> Optional[TileNetwork]:
    """Return the network as the Poplar op sees it; None for a CPU and what is not predicted."""
    device = spec.device
    if device.kind == "cpu":
        return None
    if why_no_memory(spec) is not None:
        return None
    channels = input_channels(spec.data)
    layers = _layers(spec)
    network = spec.network
    updates = device.kind == "ipu" or _trains_on_device(device)
    return TileNetwork(
        inputs=channels,
        input_slots=min(channels, max(_FEW_CHANNELS, channels // _SHARE)),
        layers=tuple(layers),
        steps=spec.data.steps,
        batch=spec.training.batch_size,
        mapping=device.mapping,
        ipus=device.ipus,
        tiles_per_ipu=_tiles(device),
        splits_neurons=splits_neurons(device, len(layers)),
        recomputes=device.memory == "recompute",
        weight_words=0.5 if field_of(device, "weights_dtype") == "float16" else 1.0,
        state_words=0.5 if device.states_dtype == "float16" else 1.0,
        optimizer_words=_optimizer_words(spec) if updates else 0,
        updates=updates,
        trains=_trains_on_device(device),
        clips_values=updates and spec.training.gradient_clipping.value is not None,
        clips_norm=updates and spec.training.gradient_clipping.global_norm is not None,
        loss_reads=_loss_reads(spec),
        loss=loss_name(spec.training) if _trains_on_device(device) else "",
        membranes=reads_hidden_membranes(spec),
        delay=network.delay,
        resets=network.reset != "none",
        masks_resets=network.reset == "zero"
        and network.reset_gradient != "term"
        and network.reset_on == "state",
    )


def _tiles(device: Any) -> int:
    """Return the tiles of each IPU."""
    if device.kind == "emulator":
        return int(device.tiles)
    return _MK1_TILES if device.architecture == "ipu1" else MK2_TILES


def _optimizer_words(spec: Any) -> int:
    """Return the numbers that the optimizer stores on the device for a weight."""
    optimizer = spec.training.optimizer
    if optimizer.kind == "sgd":
        return 1 if optimizer.momentum else 0
    return 2


def _trains_on_device(device: Any) -> bool:
    return bool(device.kind == "emulator" and device.training == "device")


def _loss_reads(spec: Any) -> Tuple[Tuple[str, int], ...]:
    """Return what equations that are computed on the tiles read of layers."""
    if not _trains_on_device(spec.device) or not needs_equations(spec.training):
        return ()
    loss, penalties = training_equations(spec)
    program = training_program(loss, penalties)
    read = layers_read(loss, penalties, program, len(spec.network.layers))
    return tuple((each.what, each.layer) for each in read)


def _layers(spec: Any) -> List[TileLayer]:
    sizes = [*hidden_sizes(spec), class_count(spec.data)]
    spiking = spiking_layers(spec.network)
    layers = []
    for number, neurons in enumerate(sizes):
        if number >= len(spiking):
            layers.append(TileLayer(neurons, 0, **_optional(spec.network.readout)))
            continue
        layer = spiking[number]
        slots = min(first_capacity(layer) or neurons, neurons)
        recurrent = bool(field_of(layer, "recurrent"))
        gated = field_of(layer, "second_threshold") is not None
        layers.append(TileLayer(neurons, slots, recurrent, gated=gated, **_optional(layer)))
    return layers


def _optional(layer: Any) -> Dict[str, bool]:
    synapse = field_of(layer, "synapse_decay") is not None
    bias, frozen = bool(field_of(layer, "bias")), not layer.trainable
    return {"synapse": synapse, "bias": bias, "frozen": frozen}
