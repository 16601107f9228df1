"""The problem that every back end solves: a network, its weights, input spikes and a loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Tuple

import numpy as np

from ipulse_core.errors import Conflict
from ipulse_core.spec.conv_layers import conv_layers
from ipulse_core.spec.part_layers import part_layers, part_name
from ipulse_ops.lif.network import Network
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.initial_weights import initial_weights
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.training.randomness import Purpose, stream

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


@dataclass(frozen=True)
class CrosscheckProblem:
    """A problem; `ids` and `counts` as in ipulse_ops.lif.reference.network_pass.forward."""

    network: Network
    trainable: Tuple[str, ...]  # constants that are trained in addition to the weights
    weights: List[np.ndarray]  # shapes as in ipulse_ops.lif.weights.weight_shapes
    ids: np.ndarray  # int32 [time, batch, slots]
    counts: np.ndarray  # int32 [time, batch]
    seed: int
    by_membrane: np.ndarray  # float32 [time, batch, classes], derivative of the loss
    by_spikes: List[np.ndarray]  # of each spiking layer, float32 [time, batch, neurons]


def problem_of(
    spec: ExperimentSpec, dataset: Dataset, samples: int, steps: int
) -> CrosscheckProblem:
    """Make a problem of the first `steps` time steps of the first `samples` training samples.

    Raises:
        Conflict: the network has convolutions, custom ops or equations, which run on one back end
            only.
    """
    if conv_layers(spec.network):
        raise Conflict("a network with convolutions runs on the cpu only: nothing to compare with")
    if part_layers(spec.network):
        parts = part_name(spec.network)
        raise Conflict(f"a network with {parts} runs in jobs only: nothing to compare with")
    network = network_of(spec).without_dropout()  # which not every back end has
    ids, counts = dataset.trains.batch(dataset.training[:samples])
    ids, counts = ids[:steps].astype(np.int32), counts[:steps]
    rng = stream(Purpose.WEIGHTS, spec.seed, 1)

    def drawn(neurons: int) -> Any:
        return rng.normal(size=(*counts.shape, neurons)).astype(np.float32)

    return CrosscheckProblem(
        network=network,
        trainable=spec.network.trainable,
        weights=initial_weights(spec, dataset),
        ids=ids,
        counts=counts,
        seed=spec.seed,
        by_membrane=drawn(network.readout.neurons),
        by_spikes=[drawn(layer.neurons) for layer in network.spiking],
    )
