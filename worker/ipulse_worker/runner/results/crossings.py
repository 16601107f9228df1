"""Membranes of test samples at which other simulators spike differently."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, List, Mapping

import numpy as np

from ipulse_core.spec.conv_layers import hidden_sizes
from ipulse_core.spec.derived_values import spiking_layers
from ipulse_core.spec.start_weights import CONSTANTS
from ipulse_ops.lif.network import Network
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.network import convolutions_of, network_of
from ipulse_worker.runner.model.reference_run import run_reference

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

MOST_SAMPLES = 256
MOST_MEMBRANES = 2**24  # of all samples, steps and neurons: 128 MiB
# A float32 simulator may see a membrane this much nearer to the threshold.
ROUNDING = 1e-5


@dataclass(frozen=True)
class Crossings:
    """How many membranes, of all layers, steps and samples, equal or pass thresholds."""

    samples: int
    equal: int  # to the threshold: the comparison > differs from >= there
    double: int  # above twice the threshold, or just below it


def crossings_of(
    spec: ExperimentSpec, arrays: Mapping[str, np.ndarray], dataset: Dataset
) -> Crossings:
    """Run test samples, as many as fit, with the reference implementation.

    Args:
        spec: of the training.
        arrays: the trained arrays, as Model.arrays.
        dataset: of the training.
    """
    network = _trained_network(spec, arrays)
    neurons = sum(hidden_sizes(spec)) + network.sizes[-1]
    fitting = MOST_MEMBRANES // (spec.data.steps * neurons)
    samples = dataset.test[: int(np.clip(fitting, 1, MOST_SAMPLES))]
    run = run_reference(spec, network, arrays, *dataset.trains.batch(samples))
    thresholds: List[Any] = [layer.threshold for layer in convolutions_of(spec)]
    thresholds += [layer.threshold for layer in network.spiking]
    # A leaky readout alone behind convolutions is described as neurons, and never spikes.
    thresholds = thresholds[: len(spiking_layers(spec.network))]
    equal = double = 0
    membranes = [layer.u for layer in run.convolutions] + [layer.u for layer in run.network.layers]
    for u, constant in zip(membranes, thresholds):
        threshold = np.asarray(constant, np.float64)
        equal += int(np.count_nonzero(u == threshold))
        double += int(np.count_nonzero(u > 2 * threshold * (1 - ROUNDING)))
    return Crossings(samples=len(samples), equal=equal, double=double)


def _trained_network(spec: ExperimentSpec, arrays: Mapping[str, np.ndarray]) -> Network:
    """Return the network with its trained constants, without capacities, as it is exported."""
    network = network_of(spec)

    def trained(layer: Any, name: str, **limits: Any) -> Any:
        present = [field for field in CONSTANTS if f"{name}_{field}" in arrays]
        return replace(layer, **limits, **{f: arrays[f"{name}_{f}"] for f in present})

    unlimited = {"capacity": None, "second_threshold": None}
    return replace(
        network,
        layers=tuple(
            trained(layer, f"layer_{number}", **unlimited)
            for number, layer in enumerate(network.layers, start=1)
        ),
        readout=trained(
            network.readout,
            "readout",
            **(unlimited if spec.network.readout.kind == "spiking" else {}),
        ),
    )
