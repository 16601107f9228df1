"""Networks of LIF neurons of which emulated IPUs run each layer as a program of its own.

The arguments are parts of `ipulse.spec.ExperimentSpec` or of the document that the runner reads.
"""

from __future__ import annotations

from typing import Any, List

from ipulse_core.spec.conv_layers import senders_of
from ipulse_core.spec.stretches import Stretch, runs_in_parts, stretches_of


def runs_layers_alone(network: Any) -> bool:
    """Returns whether a network has dropout, residual additions or delays of more than a step.

    A network of several stretches does not: its stretches run their layers as they need.
    """
    return not runs_in_parts(network) and bool(single_layer_features(network))


def has_several_programs(network: Any) -> bool:
    """Returns whether a network is several programs on tiles, which are then on one IPU."""
    return runs_in_parts(network) or runs_layers_alone(network)


def single_layer_features(network: Any) -> List[str]:
    """Returns what of a network no single program on tiles has, for messages."""
    layers = [*network.layers, network.readout]
    found = [
        (name, any(getattr(layer, field, None) for layer in layers))
        for name, field in (
            ("dropout", "dropout"),
            ("residual additions", "residual"),
            ("delays of connections", "delays"),
        )
    ]
    own = any(getattr(layer, "delay", None) is not None for layer in layers)
    found.append(("delays of more than a step", network.delay > 1 or own))
    return [name for name, has in found if has]


def programs_of(spec: Any) -> List[Stretch]:
    """Returns the layers of each program on tiles, in the order in which they run."""
    if not runs_layers_alone(spec.network):
        return stretches_of(spec)
    senders = senders_of(spec)
    hidden = len(spec.network.layers)
    found = [Stretch((index,), senders[index], False, False) for index in range(hidden)]
    return [*found, Stretch((), senders[hidden], False, True)]
