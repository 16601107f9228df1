"""The time of each layer in a training step on a CPU."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import numpy as np

from ipulse_core.spec.conv_layers import conv_layers
from ipulse_core.spec.custom_ops import indexed_ops
from ipulse_core.spec.part_layers import part_layers
from ipulse_core.spec.stretches import stretches_of
from ipulse_ops.lif.cpu import abi, native
from ipulse_worker.runner.model.op_network import OpNetwork
from ipulse_worker.runner.profile.part_times import kernel_seconds, part_seconds
from ipulse_worker.runner.training.loop import Training

HOW = (
    "the kernels' clocks of one batch after the training, scaled to the mean step; clocks run per "
    "function and thread"
)
SHORT_STEP = 0.2  # seconds; shorter steps are measured several times
REPEATS = 5


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
    networks = _networks(training.model.net)
    if any(each.has_dropout or each.has_residual or each.has_delays for each in networks):
        return None
    if not times.count or hidden >= abi.PHASE_LAYERS:
        return None
    forward, backward = _shares(training, hidden + 1)
    parts = times.means()
    names = [*range(1, hidden + 1), "readout"]
    return {
        "how": HOW,
        "layers": [
            {
                "layer": name,
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
