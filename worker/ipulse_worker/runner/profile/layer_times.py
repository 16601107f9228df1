"""The time of each layer in a training step on a CPU."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import numpy as np
import tensorflow as tf

from ipulse_core.spec.conv_layers import conv_layers
from ipulse_core.spec.custom_ops import indexed_ops
from ipulse_core.spec.layer_names import shown_names
from ipulse_core.spec.part_layers import part_layers
from ipulse_core.spec.stretches import Stretch, stretches_of
from ipulse_ops.keras.equations_layer import EquationsLayer
from ipulse_ops.lif.cpu import abi, native
from ipulse_ops.lif.slot_lists import later
from ipulse_worker.runner.model.op_network import OpNetwork
from ipulse_worker.runner.training.loop import Training

HOW = (
    "the kernels' clocks of one batch after the training, scaled to the mean step; clocks run per "
    "function and thread"
)
SHORT_STEP = 0.2  # seconds; shorter steps are measured several times
REPEATS = 5
# Functions of the kernels that the forward pass calls; all others belong to the backward pass.
FORWARD = {
    *("pack", "lif_forward", "leaky_forward", "general_forward"),
    *("select", "gather", "count_bits", "list_bits"),
}


def layer_times(training: Training) -> Optional[Dict[str, Any]]:
    """Return the mean seconds of each layer in a step.

    None on other devices than a CPU, without a training step in this attempt, and with
    convolutions, dropout, residual additions, delays of connections or custom ops: not timed by
    layer.
    """
    times = training.times
    hidden = len(training.spec.network.layers)
    described = training.spec.network
    if conv_layers(described) or indexed_ops(described) or training.spec.device.kind != "cpu":
        return None
    if any(each.dropout or each.residual for each in stretches_of(training.spec)):
        return None
    networks = _networks(training.model.net)
    if any(each.has_dropout or each.has_residual or each.has_delays for each in networks):
        return None
    if not times.count or hidden >= abi.PHASE_LAYERS:
        return None
    forward, backward = _shares(training, hidden + 1)
    parts = times.means()
    names = [*range(1, hidden + 1), "readout"]
    shown = shown_names(described)
    return {
        "how": HOW,
        "layers": [
            {
                "layer": name,
                "name": shown[str(name)],
                "forward": parts["forward"] * float(forward[at]),
                "backward": parts["backward"] * float(backward[at]),
            }
            for at, name in enumerate(names)
        ],
    }


def _networks(net: Any) -> List[Any]:
    """Return the networks of LIF layers in a Keras layer."""
    parts = net.parts if isinstance(net, OpNetwork) else [net]
    return [part.network for part in parts if hasattr(part, "network")]


def _shares(training: Training, layers: int) -> List[np.ndarray]:
    """Return each layer's share of the forward and of the backward pass."""
    samples = training.dataset.training[: training.spec.training.batch_size]
    ids, counts = training.dataset.trains.batch(samples)
    labels = training.dataset.wanted(samples)
    is_short = training.times.seconds / training.times.count < SHORT_STEP
    sums = [np.zeros(layers), np.zeros(layers)]
    native.clock_phases(True)
    try:
        for _ in range(REPEATS if is_short else 1):
            if part_layers(training.spec.network):
                stretches = stretches_of(training.spec)
                found = part_seconds(training.model.net, stretches, ids, counts)
                sums = [total + seconds for total, seconds in zip(sums, found)]
            else:
                training.model.compute_gradients(ids, counts, labels, training.step)
        if not part_layers(training.spec.network):
            sums = kernel_seconds(layers)
    finally:
        native.clock_phases(False)
    return [amounts / amounts.sum() if amounts.any() else amounts for amounts in sums]


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
    for part, stretch in zip(network.parts, stretches):
        entering, filled = later(entering, stretch.delay), later(filled, stretch.delay)
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
