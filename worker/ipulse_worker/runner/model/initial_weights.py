"""Initial weights, scaled by measurement so that every layer is active."""

from __future__ import annotations

from typing import TYPE_CHECKING, List

import numpy as np

from ipulse_core.errors import IPUlseError
from ipulse_ops.training.initialisation import balanced_weights
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.network import network_of
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
    network = network_of(spec)
    widest = max(network.sizes)
    fitting = MEASURED_BYTES // (BYTES_PER_SITE * spec.data.steps * widest)
    samples = int(np.clip(fitting, 1, MEASURED_SAMPLES))
    order = stream(Purpose.WEIGHTS, spec.seed).permutation(dataset.training)
    ids, counts = dataset.trains.batch(order[:samples])
    try:
        return balanced_weights(
            network, ids, counts, std=spec.network.initial_membrane_std, seed=spec.seed
        )
    except ValueError as error:
        raise NoActivity(f"the weights cannot be initialised: {error}") from error
