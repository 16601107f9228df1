"""Refuses networks that a back end does not run, in the words of the capability table."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence

from ipulse_core.registry.refusals import refusal_of, refusals
from ipulse_ops.lif.network import LIF, Layer, Network


class UnsupportedNetwork(ValueError):
    """The Poplar op or a cell does not support this network."""

    code = "unsupported_network"


def refuse_unsupported(network: Network, on: str, combined_with: Mapping[str, Any] = {}) -> None:
    """Raise UnsupportedNetwork if a back end does not run a network.

    Args:
        network: the network.
        on: the back end, as `ipulse_core.registry.refusals` names it.
        combined_with: what is asked for besides the network, with its value: {"several_ipus": 2}.
    """
    whole = {**combined_with, **_of_network(network)}
    for number, layer in enumerate((*network.layers, network.readout), start=1):
        own = _of_layer(layer)
        found = {**whole, **own}
        for refusal in refusals([*found], on):
            is_of_layer = not own.keys().isdisjoint((refusal.feature, *refusal.combined_with))
            place = f"layer {number}: " if is_of_layer else ""
            raise UnsupportedNetwork(place + refusal.text(on, found[refusal.feature]))


def refuse(feature: str, on: str, value: Any = None, combined_with: Sequence[str] = ()) -> None:
    """Raise UnsupportedNetwork with the words for a feature on a back end."""
    raise UnsupportedNetwork(refusal_of(feature, on, combined_with).text(on, value))


def _of_network(network: Network) -> Dict[str, Any]:
    """Return the features of a network as a whole, with their values."""
    found: Dict[str, Any] = {}
    if isinstance(network.delay, tuple):
        found["layer_delay"] = network.delay
    elif network.delay > 1:
        found["long_delay"] = network.delay
    if network.truncate is not None:
        found["truncation"] = network.truncate
    if network.reset != "none" and network.reset_gradient == "none":
        found["reset_gradient_none"] = "none"
    return found


def _of_layer(layer: Layer) -> Dict[str, Any]:
    """Return the features of a layer, with their values."""
    found: Dict[str, Any] = {"dropout": layer.dropout, "residual": layer.residual}
    if layer.delays is not None:
        found["trained_delays" if layer.delays.are_trained else "synapse_delays"] = True
    if isinstance(layer, LIF):
        found.update(adaptation=layer.adapts, top=layer.policy == "top")
    return {name: value for name, value in found.items() if value}
