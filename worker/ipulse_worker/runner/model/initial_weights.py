"""Initial weights, scaled by measurement so that every layer is active."""

from __future__ import annotations

from typing import TYPE_CHECKING, List

import numpy as np

from ipulse_core.errors import IPUlseError
from ipulse_core.spec.derived_values import input_channels
from ipulse_ops.conv.initialisation import balanced_kernels
from ipulse_ops.training.initialisation import balanced_weights
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.network import (
    convolutions_of,
    network_of,
    scale_behind_convolutions,
    spiking_neurons,
)
from ipulse_worker.runner.training.randomness import Purpose, stream

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

MEASURED_SAMPLES = 64  # a few dozen are enough
MEASURED_BYTES = 2**28  # memory limit of the measurement
BYTES_PER_SITE = 100  # per step, sample and neuron of the widest layer


class NoActivity(IPUlseError):
    """No weights make the network active."""

    code = "no_activity"


def initial_weights(spec: ExperimentSpec, dataset: Dataset) -> List[np.ndarray]:
    """Return float32 `[N_in, N_out]` of each layer and the readout; they depend on the spec only.

    Raises:
        NoActivity: no spike passes through the layers.
    """
    widest = max(input_channels(spec.data), *spiking_neurons(spec))
    fitting = MEASURED_BYTES // (BYTES_PER_SITE * spec.data.steps * widest)
    samples = int(np.clip(fitting, 1, MEASURED_SAMPLES))
    order = stream(Purpose.WEIGHTS, spec.seed).permutation(dataset.training)
    ids, counts = dataset.trains.batch(order[:samples])
    std, seed = spec.network.initial_membrane_std, spec.seed
    convolutions = convolutions_of(spec)
    kernels: List[np.ndarray] = []
    try:
        if convolutions:
            kernels, (ids, counts) = balanced_kernels(convolutions, ids, counts, std, seed)
            # The weights behind an average are scaled where they are used.
            std /= scale_behind_convolutions(spec)
        return [*kernels, *balanced_weights(network_of(spec), ids, counts, std=std, seed=seed)]
    except ValueError as error:
        raise NoActivity(f"the weights cannot be initialised: {error}") from error
