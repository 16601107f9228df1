"""Initial weights, scaled by measurement so that every layer is active."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional

import numpy as np

from ipulse_core.errors import IPUlseError
from ipulse_core.spec.conv_layers import scale_before
from ipulse_core.spec.derived_values import input_channels
from ipulse_core.spec.part_layers import part_layers
from ipulse_core.spec.stretches import stretches_of
from ipulse_ops.conv.initialisation import balanced_kernels
from ipulse_ops.lif.reference.network_pass import forward
from ipulse_ops.reference.spikes import dense_to_sparse, sparse_to_dense
from ipulse_ops.training.initialisation import balanced_weights
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.equations import balanced_equations
from ipulse_worker.runner.model.network import (
    convolution_of,
    convolutions_of,
    network_of,
    scale_behind_convolutions,
    spiking_neurons,
    stretch_network,
)
from ipulse_worker.runner.model.op_weights import draw
from ipulse_worker.runner.randomness import Purpose, stream
from ipulse_worker.runner.user_code.ops.ops import CustomOps
from ipulse_worker.runner.user_code.packages import balanced_package

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

MEASURED_SAMPLES = 64  # a few dozen are enough
MEASURED_BYTES = 2**28  # memory limit of the measurement
BYTES_PER_SITE = 100  # per step, sample and neuron of the widest layer


class NoActivity(IPUlseError):
    """No weights make the network active."""

    code = "no_activity"


def initial_weights(
    spec: ExperimentSpec, dataset: Dataset, ops: Optional[CustomOps] = None
) -> List[np.ndarray]:
    """Return float32 `[N_in, N_out]` of each layer and the readout; they depend on the spec only.

    `ops` runs the custom ops of the network, if it has any.

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
        if part_layers(spec.network):
            return _by_parts(spec, ops, ids, counts)
        if convolutions:
            kernels, (ids, counts) = balanced_kernels(convolutions, ids, counts, std, seed)
            # The weights behind an average are scaled where they are used.
            std /= scale_behind_convolutions(spec)
        network, before = network_of(spec), len(convolutions)
        return [*kernels, *balanced_weights(network, ids, counts, std, seed, before)]
    except ValueError as error:
        raise NoActivity(f"the weights cannot be initialised: {error}") from error


def _by_parts(
    spec: ExperimentSpec, ops: Optional[CustomOps], ids: np.ndarray, counts: np.ndarray
) -> List[np.ndarray]:
    """Return the weights of all layers, one part after the other on the measured samples."""
    weights: List[np.ndarray] = []
    for number, stretch in enumerate(stretches_of(spec)):
        std = spec.network.initial_membrane_std
        seed = spec.seed + (number << 64)  # other weights than those of the stretch before
        if stretch.is_equations or stretch.is_package:
            (index,) = stretch.layers
            balanced = balanced_package if stretch.is_package else balanced_equations
            own, (ids, counts) = balanced(spec, index, ids, counts, std, seed)
            weights += own
            continue
        if stretch.is_conv:
            (index,) = stretch.layers
            convolution = convolution_of(spec, index)
            own, (ids, counts) = balanced_kernels([convolution], ids, counts, std, seed, index)
            weights += own
            continue
        if stretch.is_op:
            assert ops is not None  # noqa: S101 - the attempt unpacked them
            (index,) = stretch.layers
            dense = sparse_to_dense(ids, counts, stretch.senders).astype(np.float32)
            drawn = [
                draw(weight, shape, spec.seed, index, number)
                for number, (weight, shape) in enumerate(ops.weights_of(index))
            ]
            weights += drawn
            ids, counts = dense_to_sparse(ops.forward(index, dense, drawn))
            continue
        network = stretch_network(spec, stretch)
        before = stretch.layers[0] if stretch.layers else len(spec.network.layers)
        std /= scale_before(spec, before)  # the weights are scaled where they are used
        own = balanced_weights(network, ids, counts, std, seed, before)
        weights += own
        if not stretch.has_readout:
            last = forward(network, own, ids, counts).layers[-1]
            ids, counts = last.spike_ids, last.spike_counts[..., 0]
    return weights
