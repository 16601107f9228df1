"""The op's attribute string, which describes a network. Its grammar is in network.h."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List

import numpy as np

from ipulse_core.ipu import MOST_SENDERS
from ipulse_core.registry.refusals import POPLAR_OP
from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.deprecated import former_name
from ipulse_ops.lif.conv_geometry import geometry_attribute
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.lif.network import LIF, Layer, Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.unsupported import UnsupportedNetwork, refuse, refuse_unsupported
from ipulse_ops.surrogate import SURROGATES, Surrogate, Table

# Constants of a layer behind decay and scale, as far as it has them, in the order of the inputs.
CONSTANTS = (
    *("synapse_decay", "threshold", "adaptation_strength", "adaptation_decay", "second_threshold"),
)
MOST_NEURONS_OF_TOP = 60000  # positions in the padded lists have 16 bits


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
    refuse_unsupported(network, POPLAR_OP, {"recompute": 1} if wanted.recompute else {})
    _check_sizes(network, placement)
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


def _check_sizes(network: Network, placement: Placement) -> None:
    for number, layer in enumerate(network.spiking, start=1):
        if layer.policy == "top" and layer.neurons > MOST_NEURONS_OF_TOP:
            raise UnsupportedNetwork(
                f"policy top of the Poplar op supports at most {MOST_NEURONS_OF_TOP} neurons; "
                f"layer {number} has {layer.neurons}"
            )
        if layer.policy == "top" and ranges_of(network, layer, placement) > 1:
            refuse("top_over_ipus", POPLAR_OP)
    if max(network.sizes) > MOST_SENDERS:
        refuse("many_channels", POPLAR_OP, max(network.sizes))
    layers = len(network.layers) + 1
    if split_of(network, placement) == "layers" and placement.ipus > layers:
        refuse("more_ipus_than_layers", POPLAR_OP, placement.ipus)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return former_name(__name__, name)
