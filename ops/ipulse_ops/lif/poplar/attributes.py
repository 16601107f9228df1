"""The op's attribute string, which describes a network. Its grammar is in network.h."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List

import numpy as np

from ipulse_core.ipu import MOST_SENDERS
from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.lif.conv_geometry import geometry_attribute
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.lif.network import LIF, Layer, Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.surrogate import SURROGATES, Surrogate, Table

# Constants of a layer behind decay and scale, as far as it has them, in the order of the inputs.
CONSTANTS = (
    *("synapse_decay", "threshold", "adaptation_strength", "adaptation_decay", "second_threshold"),
)
MOST_NEURONS_OF_TOP = 60000  # positions in the padded lists have 16 bits


class UnsupportedNetwork(ValueError):
    """The Poplar op does not support this network."""

    code = "unsupported_network"


@dataclass(frozen=True)
class Wanted:
    """Optional outputs and gradients of the op, and what is stored for the gradients.

    membranes: membranes of the hidden layers, which a loss may use.
    input_gradients: gradients of the input spikes.
    constant_gradients: gradients of decays, scales (gain times 1 - decay), thresholds and synapse
        decays.
    recompute: steps between two checkpoints, from which the backward pass runs the steps again; 0
        stores all that it reads.
    states: type of membranes and synapses between steps: "float", "half", which is rounded to the
        nearest number, or "half_stochastic", at random. Checkpoints have it, too.
    """

    membranes: bool = False
    input_gradients: bool = False
    constant_gradients: bool = False
    recompute: int = 0
    states: str = "float"


def states_of(dtype: str, stochastic_rounding: bool) -> str:
    """Return the type of states as in Wanted; dtype: "float32" or "float16"."""
    if dtype == "float32":
        return "float"
    return "half_stochastic" if stochastic_rounding else "half"


def needs_seed(network: Network, states: str) -> bool:
    """Return whether the op's inputs include a seed."""
    draws_offsets = any(layer.policy == "cyclic" for layer in network.spiking)
    return draws_offsets or states == "half_stochastic"


def split_of(network: Network, placement: Placement) -> str:
    """Return "layers" or "neurons", the split in the attribute string."""
    if placement.split is not None:
        return placement.split
    return "layers" if placement.ipus <= len(network.layers) + 1 else "neurons"


def ranges_of(network: Network, layer: Layer, placement: Placement) -> int:
    """Return the number of ranges, each on its own IPU, of a layer: rangesOf of network.h."""
    if split_of(network, placement) == "layers":
        return 1
    size = 2 * -(-((layer.neurons + 1) // 2) // placement.ipus)
    return -(-layer.neurons // size)


def attributes_of(
    network: Network,
    input_slots: int,
    placement: Placement = Placement(),
    wanted: Wanted = Wanted(),
) -> str:
    """Return the attribute string of the op and of its gradient.

    input_slots: number of slots per sample and step of the input spikes.

    Raises UnsupportedNetwork.
    """
    _check_supported(network, placement)
    if wanted.recompute and any(layer.adapts for layer in network.spiking):
        raise UnsupportedNetwork(
            "the Poplar op stores all steps of adaptive thresholds: use memory slots"
        )
    if wanted.recompute and network.truncate is not None:
        raise UnsupportedNetwork(
            "the Poplar op truncates gradients only where all steps are stored: use memory slots"
        )
    layers = [_layer(layer, wanted.membranes) for layer in network.layers]
    layers.append(_layer(network.readout, False))
    gradients = ["weights"]
    gradients += ["inputs"] if wanted.input_gradients else []
    gradients += ["constants"] if wanted.constant_gradients else []
    return " ".join(
        (
            "ipulse-lif/1",
            f"reset={network.reset}",
            f"reset_gradient={network.reset_gradient}",
            f"reset_on={network.reset_on}",
            f"delay={network.delay}",
            f"surrogate={surrogate_word(network.surrogate)}",
            f"mapping={placement.mapping}",
            f"ipus={placement.ipus}",
            *(["split=neurons"] if split_of(network, placement) == "neurons" else []),
            f"gradients={'+'.join(gradients)}",
            *([f"recompute={wanted.recompute}"] if wanted.recompute else []),
            *([f"truncate={network.truncate}"] if network.truncate is not None else []),
            *([f"states={wanted.states}"] if wanted.states != "float" else []),
            f"input(neurons={network.inputs},slots={input_slots})",
            *layers,
        )
    )


def _layer(layer: Layer, membrane: bool) -> str:
    words: List[str] = [f"neurons={layer.neurons}"]
    if isinstance(layer, LIF):
        words.append(f"slots={layer.slots}")
        words += ["second_threshold"] if layer.second_threshold is not None else []
        words += ["recurrent"] if layer.recurrent else []
        words += ["membrane"] if membrane else []
        words += [f"policy={layer.policy}"] if layer.policy != "index" else []
        words += ["adapts"] if layer.adapts else []
        words += ["detaches"] if layer.adapts and layer.detach_adaptation else []
    words += ["bias"] if layer.bias else []
    words += ["synapse"] if layer.synapse_decay is not None else []
    return f"{'lif' if isinstance(layer, LIF) else 'leaky'}({','.join(words)})"


def surrogate_word(surrogate: Surrogate) -> str:
    """Return a surrogate as in attribute strings: `name:slope` or `table:width:value:...`."""
    name = next(name for name, kind in SURROGATES.items() if isinstance(surrogate, kind))
    numbers = list(vars(surrogate).values())
    if isinstance(surrogate, Table):
        numbers = [surrogate.width, *surrogate.values]
    return ":".join([name, *(repr(float(number)) for number in numbers)])


def geometry_word(geometry: ConvGeometry) -> str:
    """Return the sizes of a convolution as in attribute strings."""
    return "geometry=" + ",".join(str(size) for size in geometry_attribute(geometry))


def conv_lif_attributes(layer: ConvLIF, weights_only: bool = False) -> str:
    """Return the attribute string of ConvLIF and of its gradient.

    weights_only: there is no gradient of the slots.
    """
    return " ".join(
        (
            "ipulse-conv-lif/1",
            geometry_word(layer.geometry),
            f"decay={np.float32(layer.decay)!s}",
            f"threshold={np.float32(layer.threshold)!s}",
            f"reset={layer.reset}",
            f"reset_gradient={layer.reset_gradient}",
            f"surrogate={surrogate_word(layer.surrogate)}",
            *(["bias"] if layer.bias else []),
            *(["weights_only"] if weights_only else []),
            *(["second_threshold"] if layer.second_threshold is not None else []),
        )
    )


def _check_supported(network: Network, placement: Placement) -> None:
    if network.delay not in (0, 1):
        raise UnsupportedNetwork(
            f"delay must be 0 or 1 on the Poplar op; got {network.delay}: use the back end cpu"
        )
    for number, layer in enumerate(network.spiking, start=1):
        if layer.adapts and layer.policy == "top":
            raise UnsupportedNetwork(
                f"layer {number} has adaptive thresholds, with which the Poplar op has no policy "
                "top: use another policy, or the back end cpu"
            )
        if layer.adapts and network.reset != "none" and network.reset_gradient == "none":
            raise UnsupportedNetwork(
                f"layer {number} has adaptive thresholds, with which the Poplar op has no "
                "reset_gradient none: use mask or term, or the back end cpu"
            )
        if layer.policy == "top" and layer.neurons > MOST_NEURONS_OF_TOP:
            raise UnsupportedNetwork(
                f"policy top of the Poplar op supports at most {MOST_NEURONS_OF_TOP} neurons; "
                f"layer {number} has {layer.neurons}"
            )
        if layer.policy == "top" and ranges_of(network, layer, placement) > 1:
            raise UnsupportedNetwork(
                "policy top compares membranes, which are not exchanged between IPUs: layer "
                f"{number} cannot be on {placement.ipus} IPUs with split=neurons"
            )
    if max(network.sizes) > MOST_SENDERS:
        raise UnsupportedNetwork(
            f"the Poplar op's ids have 16 bits: at most {MOST_SENDERS} neurons or inputs; "
            f"got {max(network.sizes)}"
        )
    layers = len(network.layers) + 1
    if split_of(network, placement) == "layers" and placement.ipus > layers:
        raise UnsupportedNetwork(
            f"with split=layers each layer is on one IPU: {layers} layers use at most that many; "
            f"got ipus={placement.ipus}"
        )
