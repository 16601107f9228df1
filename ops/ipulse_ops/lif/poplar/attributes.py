"""The op's attribute string, which says what a network is. network.h has its grammar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional

from ipulse_ops.lif.network import LIF, Layer, Network
from ipulse_ops.surrogate import SURROGATES, Surrogate, Table

MAPPINGS = ("capacity", "neurons", "linear")
SPLITS = ("layers", "neurons")
MOST_NEURONS = 65536  # whose ids have 16 bits
MOST_NEURONS_OF_TOP = 60000  # whose places in the lists have, with their padding


class UnsupportedNetwork(ValueError):
    """The Poplar op does not run this network."""

    code = "unsupported_network"


@dataclass(frozen=True)
class Placement:
    """Where the op puts a network.

    mapping: "capacity" gives every tile the same work by the slots that enter its neurons,
        "neurons" the same number of neurons, "linear" spreads every layer over all tiles.
    ipus: that the layers are spread over.
    split: "layers" puts every layer on one IPU, "neurons" a range of every layer's neurons on
        each; None is "layers" as long as there is one for every IPU.
    """

    mapping: str = "capacity"
    ipus: int = 1
    split: Optional[str] = None

    def __post_init__(self) -> None:
        if self.mapping not in MAPPINGS:
            raise ValueError(f"mapping must be {', '.join(MAPPINGS)}; got {self.mapping}")
        if self.ipus < 1:
            raise ValueError(f"ipus must be at least 1; got {self.ipus}")
        if self.split not in (None, *SPLITS):
            raise ValueError(f"split must be {', '.join(SPLITS)} or None; got {self.split}")


@dataclass(frozen=True)
class Wanted:
    """What the op is asked for besides spikes, the readout's membrane and gradients by weights.

    membranes: those of the hidden layers, to which loss can be attached, too.
    input_gradients: by the spikes in the input's slots.
    constant_gradients: by decays, scales (gain times 1 - decay), thresholds, synapses' decays.
    """

    membranes: bool = False
    input_gradients: bool = False
    constant_gradients: bool = False


def split_of(network: Network, placement: Placement) -> str:
    """ "layers" or "neurons", as the attribute string says it."""
    if placement.split is not None:
        return placement.split
    return "layers" if placement.ipus <= len(network.layers) + 1 else "neurons"


def ranges_of(network: Network, layer: Layer, placement: Placement) -> int:
    """In how many ranges a layer's neurons lie, each on an IPU of its own: network.h, rangesOf."""
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
    """The attribute string, for the op and for its gradient alike.

    input_slots: of a sample and step of the input spikes.

    Raises UnsupportedNetwork.
    """
    _check_supported(network, placement)
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
    words += ["bias"] if layer.bias else []
    words += ["synapse"] if layer.synapse_decay is not None else []
    return f"{'lif' if isinstance(layer, LIF) else 'leaky'}({','.join(words)})"


def surrogate_word(surrogate: Surrogate) -> str:
    """How attribute strings name a surrogate: `name:slope`, or `table:width:value:...`."""
    name = next(name for name, kind in SURROGATES.items() if isinstance(surrogate, kind))
    numbers = list(vars(surrogate).values())
    if isinstance(surrogate, Table):
        numbers = [surrogate.width, *surrogate.values]
    return ":".join([name, *(repr(float(number)) for number in numbers)])


def _check_supported(network: Network, placement: Placement) -> None:
    for number, layer in enumerate(network.spiking):
        if layer.policy == "top" and layer.neurons > MOST_NEURONS_OF_TOP:
            raise UnsupportedNetwork(
                f"the Poplar op's policy top is for at most {MOST_NEURONS_OF_TOP} neurons; "
                f"layer {number} has {layer.neurons}"
            )
        if layer.policy == "top" and ranges_of(network, layer, placement) > 1:
            raise UnsupportedNetwork(
                "policy top compares membranes, and spikes cross between IPUs as ids alone: layer "
                f"{number} cannot be on {placement.ipus} IPUs by split=neurons"
            )
    if max(network.sizes) > MOST_NEURONS:
        raise UnsupportedNetwork(
            f"the Poplar op's ids have 16 bits: at most {MOST_NEURONS} neurons or inputs; "
            f"got {max(network.sizes)}"
        )
    layers = len(network.layers) + 1
    if split_of(network, placement) == "layers" and placement.ipus > layers:
        raise UnsupportedNetwork(
            f"with split=layers a layer lies on one IPU: {layers} layers can use as many; got "
            f"ipus={placement.ipus}"
        )
