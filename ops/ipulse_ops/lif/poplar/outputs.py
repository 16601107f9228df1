"""The outputs of the Poplar op."""

from __future__ import annotations

from typing import List, Tuple

from ipulse_ops.lif.network import LIF, Network
from ipulse_ops.lif.poplar.attributes import Placement, Wanted, ranges_of

RESET_BITS = 24  # samples per float of the resets


def output_specs(
    network: Network,
    steps: int,
    batch: int,
    wanted: Wanted = Wanted(),  # noqa: B008 (frozen)
    placement: Placement = Placement(),  # noqa: B008 (frozen)
) -> List[Tuple[str, int, Tuple[int, ...]]]:
    """Return name, layer and shape of the op's outputs in order (operands.h), all float32."""
    readout = len(network.layers)
    specs: List[Tuple[str, int, Tuple[int, ...]]] = [
        ("membrane", readout, (steps, batch, network.readout.neurons)),
        ("ignored", 0, (steps, batch)),
    ]
    masked = network.reset == "zero" and network.reset_gradient != "term"
    by_threshold = wanted.constant_gradients and network.reset == "subtract"
    unseen = network.reset_on == "state"
    for number, layer in enumerate((*network.layers, network.readout)):
        everywhere = (steps, batch, layer.neurons)
        if isinstance(layer, LIF):
            slots = (steps, batch, layer.slots)
            ranges = ranges_of(network, layer, placement)
            values = slots if ranges == 1 else (steps, batch, ranges, layer.slots)
            specs += [
                ("spike_ids", number, slots),
                ("spike_counts", number, (steps, batch, 2)),
                ("dropped", number, (steps, batch)),
                ("surrogate", number, values),
            ]
            if network.reset == "zero" and network.reset_gradient == "none":
                specs.append(("slot_membrane", number, values))
            by_reset = masked or (by_threshold and network.reset_gradient != "term")
            if by_reset and unseen and layer.slots < layer.neurons:
                words = -(-batch // RESET_BITS)
                specs.append(("resets", number, (steps, words, layer.neurons)))
        if wanted.membranes and number != readout:
            specs.append(("membrane", number, everywhere))
        if wanted.constant_gradients:
            specs += [("carried", number, everywhere), ("current", number, everywhere)]
    return specs
