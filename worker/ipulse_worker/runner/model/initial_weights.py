"""Initial weights, scaled by measurement so that every layer is active."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, List, Optional

import numpy as np

from ipulse_core.errors import IPUlseError
from ipulse_core.op_manifest.weights import OpInitialiser, OpWeight
from ipulse_core.spec.composed_layers import has_constants_of_filters, runs_composed
from ipulse_core.spec.conv_layers import scale_before
from ipulse_core.spec.derived_values import input_channels
from ipulse_core.spec.part_layers import is_recurrent
from ipulse_core.spec.start_weights import Shape
from ipulse_core.spec.stretches import stretches_of
from ipulse_ops.conv.initialisation import balanced_kernels
from ipulse_ops.lif.connection_delays import drawn_for
from ipulse_ops.lif.reference.network_pass import forward
from ipulse_ops.reference.spikes import added_spikes, dense_to_sparse, sparse_to_dense
from ipulse_ops.training.initialisation import balanced_weights
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.equations import balanced_equations
from ipulse_worker.runner.model.layers_of_spec import connection_delays_of
from ipulse_worker.runner.model.network import (
    convolution_of,
    convolutions_of,
    network_of,
    scale_behind_convolutions,
    spiking_neurons,
    stretch_network,
)
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
    kernels: List[np.ndarray] = []
    try:
        if runs_composed(spec):
            return _by_parts(spec, ops, ids, counts)
        convolutions = convolutions_of(spec)
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
    sent = [(ids, counts)]  # of the input and the layers
    for number, stretch in enumerate(stretches_of(spec)):
        ids, counts = sent[-1]
        if stretch.residual:
            ids, counts = added_spikes([sent[-1], *(sent[layer] for layer in stretch.residual)])
        std = spec.network.initial_membrane_std
        seed = spec.seed + (number << 64)  # other weights than those of the stretch before
        first: Any = spec.network.layers[stretch.layers[0]] if stretch.layers else None
        has_own = stretch.is_conv and (has_constants_of_filters(first) or is_recurrent(first))
        if stretch.is_equations or stretch.is_package or has_own:
            (index,) = stretch.layers
            balanced = balanced_package if stretch.is_package else balanced_equations
            own, spikes = balanced(spec, index, ids, counts, std, seed)
            weights += [*own, *_drawn_delays(spec, index, own[0], seed)]
            sent.append(spikes)
            continue
        if stretch.is_conv:
            (index,) = stretch.layers
            convolution = convolution_of(spec, index)
            own, spikes = balanced_kernels([convolution], ids, counts, std, seed, index)
            weights += [*own, *_drawn_delays(spec, index, own[0], seed)]
            sent.append(spikes)
            continue
        if stretch.is_op:
            assert ops is not None  # noqa: S101 - the attempt unpacked them
            (index,) = stretch.layers
            dense = sparse_to_dense(ids, counts, stretch.senders).astype(np.float32)
            drawn = [
                _draw_op_weight(weight, shape, spec.seed, index, number)
                for number, (weight, shape) in enumerate(ops.weights_of(index))
            ]
            weights += drawn
            sent.append(dense_to_sparse(ops.forward(index, dense, drawn)))
            continue
        network = stretch_network(spec, stretch)
        before = stretch.layers[0] if stretch.layers else len(spec.network.layers)
        std /= scale_before(spec, before)  # the weights are scaled where they are used
        own = balanced_weights(network, ids, counts, std, seed, before)
        weights += own
        if not stretch.has_readout:
            traces = forward(network, own, ids, counts).layers
            sent += [(each.spike_ids, each.spike_counts[..., 0]) for each in traces]
    return weights


def _drawn_delays(
    spec: ExperimentSpec, index: int, weights: np.ndarray, seed: int
) -> Iterator[np.ndarray]:
    """Yield the delays of a layer's connections, if they have delays of their own.

    The weights are measured as if spikes arrived at once.
    """
    delays = connection_delays_of(spec.network.layers[index])
    if delays is not None:
        yield drawn_for(delays, seed, index, weights.shape)


def _draw_op_weight(
    weight: OpWeight, shape: Shape, seed: int, layer: int, number: int
) -> np.ndarray:
    """Return float32 values within the bounds of a weight; equal arguments give equal values.

    layer: its index in the network. number: of the weight in the op, from 0.
    """
    random = stream(Purpose.OP_WEIGHTS, seed, layer, number)
    made = _unbounded(weight.initialiser, shape, random).astype(np.float32)
    return _within_bounds(weight, made)


def _within_bounds(weight: OpWeight, values: np.ndarray) -> np.ndarray:
    """Return the values, limited to the bounds that the weight declares."""
    if weight.minimum is None and weight.maximum is None:
        return values
    made: np.ndarray = np.clip(values, weight.minimum, weight.maximum).astype(np.float32)
    return made


def _unbounded(
    initialiser: OpInitialiser, shape: Shape, random: np.random.RandomState
) -> np.ndarray:
    numbers = initialiser.numbers
    if initialiser.name == "zeros":
        return np.zeros(shape)
    if initialiser.name == "ones":
        return np.ones(shape)
    if initialiser.name == "constant":
        return np.full(shape, numbers["value"])
    if initialiser.name == "uniform":
        return random.uniform(numbers["low"], numbers["high"], shape)
    if initialiser.name == "normal":
        return random.normal(numbers["mean"], numbers["std"], shape)
    limit = np.sqrt(6 / (shape[0] + shape[-1]))  # glorot_uniform
    return random.uniform(-limit, limit, shape)
