"""The outputs of the Poplar op."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import List, Tuple

from ipulse_ops.lif.network import LIF, Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.attributes import Wanted, ranges_of
from ipulse_ops.lif.poplar.library_report import library_report

RESET_BITS = 24  # samples per float of the resets
# Outputs that grow with the steps between two checkpoints instead of all steps.
_OF_A_SEGMENT = ("surrogate", "slot_membrane", "resets", "carried", "current", "rise")


def output_specs(
    network: Network,
    steps: int,
    batch: int,
    wanted: Wanted = Wanted(),
    placement: Placement = Placement(),
) -> List[Tuple[str, int, Tuple[int, ...]]]:
    """Return name, layer and shape of the op's outputs in order (operands.h)."""
    readout = len(network.layers)
    specs: List[Tuple[str, int, Tuple[int, ...]]] = [
        ("membrane", readout, (steps, batch, network.readout.neurons)),
        ("ignored", 0, (steps, batch)),
    ]
    masked = network.reset == "zero" and network.reset_gradient != "term"
    unseen = network.reset_on == "state"
    stored = wanted.recompute == 0
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
            ]
            if stored:
                specs.append(("surrogate", number, values))
            if stored and network.reset == "zero" and network.reset_gradient == "none":
                specs.append(("slot_membrane", number, values))
            by_threshold = wanted.constant_gradients or layer.adapts
            by_threshold = by_threshold and network.reset == "subtract"
            by_reset = masked or (by_threshold and network.reset_gradient != "term")
            if stored and by_reset and unseen and layer.slots < layer.neurons:
                words = -(-batch // RESET_BITS)
                specs.append(("resets", number, (steps, words, layer.neurons)))
        if wanted.membranes and number != readout:
            specs.append(("membrane", number, everywhere))
        if stored and wanted.constant_gradients:
            specs += [("carried", number, everywhere), ("current", number, everywhere)]
            if isinstance(layer, LIF) and layer.adapts:
                specs.append(("rise", number, everywhere))
        if not stored:
            states = (_checkpoints(steps, wanted.recompute), batch, layer.neurons)
            names = ["checkpoint"] + ["synapse_checkpoint"] * (layer.synapse_decay is not None)
            specs += [(name, number, states) for name in names]
    return specs


def output_names(attributes: str) -> List[Tuple[str, int]]:
    """Return name and layer of the outputs of an op with these attributes, in order."""
    lines = library_report("ipulse_lif_outputs", attributes).splitlines()
    return [(name, int(layer)) for name, layer in (line.split() for line in lines)]


def output_type(name: str, wanted: Wanted) -> str:
    """Return the type of an output: float32, but checkpoints have that of the states."""
    is_state = name in ("checkpoint", "synapse_checkpoint")
    return "float16" if is_state and wanted.states != "float" else "float32"


def steps_between_checkpoints(
    network: Network,
    steps: int,
    batch: int,
    wanted: Wanted = Wanted(),
    placement: Placement = Placement(),
) -> int:
    """Return the `recompute` of Wanted with which the op stores the fewest bytes."""
    stored = output_specs(network, steps, batch, replace(wanted, recompute=0), placement)
    spikes = ("spike_ids", "spike_counts", "dropped")  # which the second run stores once more
    a_step = sum(prod(shape) for name, _, shape in stored if name in (*_OF_A_SEGMENT, *spikes))
    states = sum(
        batch * layer.neurons * (1 + (layer.synapse_decay is not None))
        for layer in (*network.layers, network.readout)
    ) * (0.5 if wanted.states != "float" else 1)

    def floats(segments: int) -> float:
        length = -(-steps // segments)
        return _checkpoints(steps, length) * states + length * (a_step // steps)

    best = min(range(1, steps + 1), key=floats)
    return -(-steps // best)


def _checkpoints(steps: int, recompute: int) -> int:
    return max(1, -(-steps // recompute) - 1)
