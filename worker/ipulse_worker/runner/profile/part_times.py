"""The time of each layer of a network with equations, part by part."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
import tensorflow as tf

from ipulse_core.spec.stretches import Stretch
from ipulse_ops.keras.equations_layer import EquationsLayer
from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.slot_lists import later
from ipulse_worker.runner.model.op_network import OpNetwork

# Functions of the kernels that the forward pass calls; all others belong to the backward pass.
FORWARD = {
    *("pack", "lif_forward", "leaky_forward", "general_forward"),
    *("select", "gather", "count_bits", "list_bits"),
}


def kernel_seconds(layers: int) -> List[np.ndarray]:
    """Return each layer's seconds in the kernels' forward and backward pass, by their clocks."""
    sums = [np.zeros(layers), np.zeros(layers)]
    for name, seconds in native.phases().items():
        sums[0 if name in FORWARD else 1] += np.array(seconds[:layers])
    return sums


def part_seconds(
    network: OpNetwork, stretches: List[Stretch], ids: np.ndarray, counts: np.ndarray
) -> List[np.ndarray]:
    """Return the seconds of each layer, the readout last, in the forward and the backward pass.

    The parts run one after the other on a batch, each with a gradient of ones. The kernels' clocks
    are on, and count the layers of each part from 0.
    """
    layers = 1 + sum(len(stretch.layers) for stretch in stretches)
    sums = [np.zeros(layers), np.zeros(layers)]
    entering, filled = tf.constant(ids, tf.float32), tf.constant(counts)
    for number, (part, stretch) in enumerate(zip(network.parts, stretches)):
        delay = network.delays[number]
        entering, filled = later(entering, delay), later(filled, delay)
        native.clock_phases(True)
        before = _own_seconds(part)
        with tf.GradientTape() as tape:
            tape.watch(entering)
            found: Any = part.run(entering, filled, True)
            sent = list(found[:2]) if isinstance(part, EquationsLayer) else []
            if not sent and not stretch.has_readout:
                sent = [found.spike_ids[-1], found.spike_counts[-1]]
            result = sent[0] if sent else _output_of(found)
        tape.gradient(result, [entering, *part.kernels])
        places = [*stretch.layers, *[layers - 1] * stretch.has_readout]
        if isinstance(part, EquationsLayer):
            after = _own_seconds(part)
            for total, name in zip(sums, ("forward", "backward")):
                total[places[0]] += after[name] - before[name]
        else:
            for total, seconds in zip(sums, kernel_seconds(len(places))):
                np.add.at(total, places, seconds)
        if sent:
            entering, filled = sent
    return sums


def _output_of(found: Any) -> Any:
    """Return what the loss reads of the readout."""
    return found.spike_ids[-1] if found.membrane is None else found.membrane


def _own_seconds(part: Any) -> Dict[str, float]:
    return dict(part.kernel_seconds) if isinstance(part, EquationsLayer) else {}
