"""The parts of a network with custom ops or own neurons, and the layers between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Tuple, Union

from ipulse_core.spec.conv_layers import conv_layers, is_conv, senders_of
from ipulse_core.spec.custom_ops import is_op
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.neuron_packages import has_package
from ipulse_core.spec.part_layers import has_equations, is_part, part_layers


@dataclass(frozen=True)
class Stretch:
    """Successive dense layers, or a custom op, a layer with own neurons or a convolution alone."""

    layers: Tuple[int, ...]  # indices of hidden layers from 0
    senders: int
    is_op: bool
    has_readout: bool  # the readout is behind these layers
    is_equations: bool = False
    is_conv: bool = False
    is_package: bool = False  # its neurons are of a package
    delay: int = 0  # steps that spikes take to its first layer
    residual: Tuple[int, ...] = ()  # further layers, from 1, that send to its first layer
    dropout: float = 0.0  # of a layer that is no dense LIF layer

    @property
    def names(self) -> Dict[str, str]:
        """The names of layers in a profile of the network, by those in this part's program."""
        own = [f"layer{number}" for number in range(1, len(self.layers) + 1)]
        whole = [f"layer{index + 1}" for index in self.layers]
        if self.has_readout and not self.layers:  # a leaky one is a layer of its program
            return {"layer1": "readout", "readout": "readout"}
        if self.has_readout:
            return {**dict(zip(own, whole)), "readout": "readout"}
        return {**dict(zip(own[:-1], whole)), "readout": whole[-1]}


def runs_in_parts(network: Any) -> bool:
    """Returns whether a network is several programs on tiles: one for each stretch."""
    return bool(part_layers(network) or conv_layers(network))


def delay_within(
    network: Any, indices: Sequence[int], is_part: bool
) -> Union[int, Tuple[int, ...]]:
    """Returns the delay between successive layers, or those to each if one has a delay of its own.

    Args:
        network: of a spec.
        indices: of the layers, from 0; the readout is behind the last layer.
        is_part: whether they are a part of a network that runs composed, which delays the spikes to
            its first layer.
    """
    layers = [*network.layers, network.readout]
    if all(layers[index].delay is None for index in indices):
        delay: int = network.delay
        return delay
    delays = input_delays(network)
    entering = 0 if is_part else delays[indices[0]]
    return (entering, *(delays[index] for index in indices[1:]))


def stretches_of(spec: Any) -> List[Stretch]:
    """Return the parts of a network in order; dense layers of LIF neurons alone are one."""
    network, senders = spec.network, senders_of(spec)
    delays, layers = input_delays(network), [*network.layers, network.readout]
    found: List[Stretch] = []
    current: List[int] = []

    def entering(first: int) -> Dict[str, Any]:
        return {"delay": delays[first], "residual": tuple(field_of(layers[first], "residual"))}

    def end(has_readout: bool) -> None:
        if current or has_readout:
            first = current[0] if current else len(network.layers)
            found.append(
                Stretch(tuple(current), senders[first], False, has_readout, **entering(first))
            )
            current.clear()

    for index, layer in enumerate(network.layers):
        if is_part(layer) or is_conv(layer):
            end(has_readout=False)
            kinds: Dict[str, Any] = {
                **entering(index),
                "dropout": field_of(layer, "dropout"),
                "is_equations": has_equations(layer),
                "is_conv": is_conv(layer),
                "is_package": has_package(layer),
            }
            found.append(Stretch((index,), senders[index], is_op(layer), False, **kinds))
        else:
            current.append(index)
    end(has_readout=True)
    return found
