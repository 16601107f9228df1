"""The time of each layer in a training step on a CPU."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import numpy as np

from ipulse_core.spec.conv_layers import conv_layers
from ipulse_core.spec.part_layers import part_layers
from ipulse_ops.lif.cpu import abi, native
from ipulse_worker.runner.training.loop import Training

HOW = (
    "the kernels' clocks of one batch after the training, scaled to the mean step; clocks run per "
    "function and thread"
)
# Functions of the kernels that the forward pass calls; all others belong to the backward pass.
FORWARD = {
    *("pack", "lif_forward", "leaky_forward", "general_forward"),
    *("select", "gather", "count_bits", "list_bits"),
}
SHORT_STEP = 0.2  # seconds; shorter steps are measured several times
REPEATS = 5


def layer_times(training: Training) -> Optional[Dict[str, Any]]:
    """Return the mean seconds of each layer in a step.

    None on other devices than a CPU, without a training step in this attempt, and with
    convolutions, dropout, residual additions, delays of connections, custom ops or equations: not
    timed by layer.
    """
    times = training.times
    hidden = len(training.spec.network.layers)
    described = training.spec.network
    if conv_layers(described) or part_layers(described) or training.spec.device.kind != "cpu":
        return None
    network = training.model.net.network
    if network.has_dropout or network.has_residual or network.has_delays:
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


def _shares(training: Training, layers: int) -> List[np.ndarray]:
    """Return each layer's share of the forward and of the backward pass."""
    samples = training.dataset.training[: training.spec.training.batch_size]
    ids, counts = training.dataset.trains.batch(samples)
    labels = training.dataset.wanted(samples)
    is_short = training.times.seconds / training.times.count < SHORT_STEP
    native.clock_phases(True)
    try:
        for _ in range(REPEATS if is_short else 1):
            training.model.compute_gradients(ids, counts, labels, training.step)
        spent = native.phases()
    finally:
        native.clock_phases(False)
    sums = [np.zeros(layers), np.zeros(layers)]
    for name, seconds in spent.items():
        is_forward = name in FORWARD
        sums[0 if is_forward else 1] += np.array(seconds[:layers])
    return [amounts / amounts.sum() if amounts.any() else amounts for amounts in sums]
