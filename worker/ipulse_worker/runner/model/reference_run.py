"""Runs the network of a spec, convolutions first, in the float64 reference."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, List, Mapping, NamedTuple, Tuple

import numpy as np

from ipulse_core.spec.conv_layers import conv_layers, dense_layers
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.part_layers import is_recurrent
from ipulse_core.spec.start_weights import layer_names
from ipulse_ops.conv import reference as conv_reference
from ipulse_ops.conv.reference import ConvRun
from ipulse_ops.lif.network import LIF, Network
from ipulse_ops.lif.neuron_constants import NEVER
from ipulse_ops.lif.reference import network_pass
from ipulse_ops.lif.reference.trace import Trace
from ipulse_worker.runner.model.network import convolutions_of, scale_behind_convolutions
from ipulse_worker.runner.model.weight_names import weight_names

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


class ReferenceRun(NamedTuple):
    """The values of all layers."""

    convolutions: List[ConvRun]
    network: Trace  # the fully connected layers


def run_reference(
    spec: ExperimentSpec,
    network: Network,
    arrays: Mapping[str, np.ndarray],
    ids: np.ndarray,
    counts: np.ndarray,
) -> ReferenceRun:
    """Run spikes `[time, batch, slots]` through a network.

    Args:
        spec: of the training.
        network: its fully connected layers.
        arrays: the weights by name, as Model.arrays.
        ids: of the spikes.
        counts: spikes of each step and sample, `[time, batch]`.
    """
    runs: List[ConvRun] = []
    layers = convolutions_of(spec)
    if layers:
        planes = conv_reference.planes_of(layers[0].geometry.entering, ids, counts)
        for name, layer in zip(layer_names(spec.network), layers):
            kernel = arrays[name].astype(np.float64)
            bias, own = (arrays.get(f"{name}_{part}") for part in ("bias", "recurrent"))
            runs.append(conv_reference.forward(layer, kernel, bias, planes, own))
            planes = runs[-1].pooled
        ids, counts = _listed(planes.reshape(*planes.shape[:2], -1))
    own_arrays = (1 + layer.bias + is_recurrent(layer) for layer in conv_layers(spec.network))
    names = weight_names(spec)[sum(own_arrays) :]
    weights = [arrays[name] for name in names]
    if layers and spec.network.readout.kind == "leaky" and not dense_layers(spec.network):
        assert isinstance(network.readout, LIF)  # noqa: S101
        # Alone behind convolutions, `network_of` describes it as neurons.
        network = replace(network, readout=replace(network.readout, threshold=NEVER))
    if layers and isinstance(network.delay, int):  # of spikes to its first layer, too
        delays = input_delays(spec.network)[len(layers) :]
        network = replace(network, delay=tuple(delays))
    weights[0] = weights[0] * np.float32(scale_behind_convolutions(spec))
    return ReferenceRun(runs, network_pass.forward(network, weights, ids, counts))


def _listed(counted: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """List ids as often as they are counted, `[time, batch, neurons]`."""
    times = counted.astype(np.int64)
    counts = times.sum(axis=2, dtype=np.int32)
    ids = np.zeros((*counts.shape, max(int(counts.max(initial=0)), 1)), np.int32)
    neurons = np.broadcast_to(np.arange(times.shape[2]), times.shape)
    ids[np.arange(ids.shape[2]) < counts[..., None]] = np.repeat(neurons.ravel(), times.ravel())
    return ids, counts
