"""Networks of LIF neurons of which emulated IPUs run each layer as a program of its own.

The arguments are parts of `ipulse.spec.ExperimentSpec` or of the document that the runner reads.
"""

from __future__ import annotations

from typing import Any, List

from ipulse_core.spec.conv_layers import senders_of
from ipulse_core.spec.stretches import Stretch, runs_in_parts, stretches_of


def runs_layers_alone(network: Any) -> bool:
    """Returns whether a network has dropout, residual additions or delays of more than a step.

    A network of several stretches does not: `programs_of` says which of its layers run alone.
    """
    return not runs_in_parts(network) and bool(single_layer_features(network))


def has_several_programs(network: Any) -> bool:
    """Returns whether a network is several programs on tiles, which are then on one IPU."""
    return runs_in_parts(network) or runs_layers_alone(network)


def single_layer_features(network: Any) -> List[str]:
    """Returns what of a network no single program on tiles has, for messages."""
    return _features([*network.layers, network.readout], network.delay)


def makes_lists_on_host(network: Any, stretch: Stretch) -> bool:
    """Returns whether the host changes lists of spikes that enter dense LIF layers on tiles."""
    return not _is_own_program(stretch) and bool(_features_of(network, stretch))


def programs_of(spec: Any) -> List[Stretch]:
    """Returns the layers of each program on tiles, in the order in which they run."""
    senders = senders_of(spec)
    found: List[Stretch] = []
    for stretch in stretches_of(spec):
        if not makes_lists_on_host(spec.network, stretch):
            found.append(stretch)
            continue
        found += [Stretch((index,), senders[index], False, False) for index in stretch.layers]
        if stretch.has_readout:
            found.append(Stretch((), senders[-1], False, True))
    return found


def _is_own_program(stretch: Stretch) -> bool:
    """Returns whether a part is no stretch of dense LIF layers."""
    return stretch.is_op or stretch.is_equations or stretch.is_conv or stretch.is_package


def _features_of(network: Any, stretch: Stretch) -> List[str]:
    layers = [network.layers[index] for index in stretch.layers]
    return _features([*layers, *([network.readout] if stretch.has_readout else [])], network.delay)


def _features(layers: List[Any], delay: int) -> List[str]:
    found = [
        (name, any(getattr(layer, field, None) for layer in layers))
        for name, field in (
            ("dropout", "dropout"),
            ("residual additions", "residual"),
            ("delays of connections", "delays"),
        )
    ]
    own = any(layer.delay is not None for layer in layers)
    found.append(("delays of more than a step", delay > 1 or own))
    return [name for name, has in found if has]
