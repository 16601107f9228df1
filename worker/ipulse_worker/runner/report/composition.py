"""What the network is made of, and what it takes."""

from __future__ import annotations

from html import escape
from typing import Any, Dict, List

import numpy as np

from ipulse_worker.runner.model.network import spiking_names
from ipulse_worker.runner.report.quantities import count, percent, size
from ipulse_worker.runner.report.tables import table
from ipulse_worker.runner.results.results import Results

NONE = "–"
HEADS = [
    "",
    "neurons",
    "weights",
    "decay",
    "threshold",
    "second threshold",
    "slots",
    "firing rate",
    "gradient set",
    "dropped",
    "at most in a step",
]


def network(results: Results) -> Dict[str, str]:
    network = results.spec.network
    described = [*network.layers, network.readout]
    names = [*(f"layer {n}" for n in range(1, len(network.layers) + 1)), "readout"]
    rows = [_row(results, at, name, described[at]) for at, name in enumerate(names)]
    memory = results.profile["memory"]
    saved, full = memory["savedForBackward"], memory["fullHistory"]
    return {
        "network_words": escape(
            f"{count(sum(_synapses(results, at) for at in range(len(names))))} weights. "
            "Firing rate is spikes, gradient set is neurons above the second threshold, per neuron "
            "and step on held-out samples; dropped counts spikes without a slot in training, and "
            "at most in a step those of a held-out sample's worst step, mean of all samples. "
            f"Peak memory of the process {size(memory['peakRss']['bytes'])}; weights "
            f"{size(memory['weights']['bytes'])}, optimizer {size(memory['optimizer']['bytes'])}. "
            f"Kept for the backward pass {size(saved['bytes'])}, "
            f"{size(saved['bytes_per_sample'])} of a sample, where every membrane of every step "
            f"would take {size(full['bytes_per_sample'])} (computed)."
        ),
        "layer_table": table(HEADS, rows),
    }


def _row(results: Results, at: int, name: str, layer: Any) -> List[str]:
    tally = results.judgement.tally
    row = [
        name,
        f"{results.sizes[at + 1]:,}",
        f"{_synapses(results, at):,}",
        _constant(layer.decay),
    ]
    if at >= len(spiking_names(results.spec)):
        return [*row, *[NONE] * (len(HEADS) - len(row))]
    capacity, second = results.gates.capacities[at], results.gates.second_thresholds[at]
    return [
        *row,
        _constant(layer.threshold),
        "none" if second is None else _constant(second),
        "all" if capacity is None else f"{capacity:,}",
        percent(tally.firing_rates[at], 2),
        percent(tally.gradient_shares[at], 1),
        count(results.dropped_in_training[at]),
        f"{results.judgement.dropped_by_step[at].max():.2f}",
    ]


def _synapses(results: Results, at: int) -> int:
    before, neurons = results.sizes[at : at + 2]
    layers = results.spec.network.spiking
    own = neurons if at < len(layers) and layers[at].recurrent else 0
    return (before + own) * neurons


def _constant(value: Any) -> str:
    """One number, or from the least to the largest of one per neuron."""
    least, most = np.min(value), np.max(value)
    return f"{least:g}" if least == most else f"{least:g} to {most:g}"
