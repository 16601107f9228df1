"""The layers of a spec with neurons of packages, which this worker's administrator signed off."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

import numpy as np

from ipulse_core.spec.conv_layers import hidden_sizes, scale_before, senders_of
from ipulse_core.spec.neuron_packages import package_layers, package_names
from ipulse_core.spec.part_layers import is_recurrent
from ipulse_ops.equations.initialisation import with_recurrent_weights
from ipulse_ops.neuron_package.keras_layer import package_spikes
from ipulse_ops.neuron_package.layer_neurons import LayerNeurons, layer_neurons
from ipulse_ops.neuron_package.loading import LoadedPackage, load_package, signed_off_packages
from ipulse_ops.reference.spike_matmul import spike_matmul
from ipulse_ops.reference.spikes import dense_to_sparse
from ipulse_ops.training.initialisation import silence

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def require_packages(spec: ExperimentSpec) -> List[str]:
    """Import the packages of a spec and return what they are, for the log.

    Raises:
        PackageUnavailable: one is not installed here, not signed off, or cannot be imported.
        InvalidInput: its parameters are others than those of the spec.
    """
    for index, _ in package_layers(spec.network):
        neurons_of(spec, index)
    return [
        f"package of neurons: {each['package']} ({each['version']})" for each in used_packages(spec)
    ]


def used_packages(spec: ExperimentSpec) -> List[Dict[str, str]]:
    """Return the packages of a spec with their versions, for the manifest."""
    described = [_loaded(name).description for name in package_names(spec.network)]
    return [{"package": each.package, "version": each.version} for each in described]


def neurons_of(spec: ExperimentSpec, index: int) -> LayerNeurons:
    """Return the neurons of hidden layer `index`, from 0. Raises as require_packages."""
    layer: Any = spec.network.layers[index]
    return layer_neurons(
        _loaded(layer.neuron.package), layer.neuron, hidden_sizes(spec)[index], is_recurrent(layer)
    )


def balanced_package(
    spec: ExperimentSpec, index: int, ids: np.ndarray, counts: np.ndarray, std: float, seed: int
) -> Tuple[List[np.ndarray], Tuple[np.ndarray, np.ndarray]]:
    """Return initial weights of hidden layer `index`, and what it sends on a sample of its input.

    Weights are uniform in -w to w, with w such that the currents have the standard deviation `std`
    on the sample. Those of a recurrent layer are smaller, as of `with_recurrent_weights`.

    Raises ValueError if the sample has no spikes, or the layer sends none.
    """
    if not counts.size or not counts.any():
        raise ValueError(silence(index))
    neurons, scale = neurons_of(spec, index), scale_before(spec, index)
    rng = np.random.Generator(np.random.PCG64(seed))
    uniform = 2 * rng.random((senders_of(spec)[index], neurons.neurons)) - 1
    found = float((spike_matmul(uniform, ids, counts) * scale).std())
    width = float(f"{std / found:.3g}")  # rounding of sums cannot change so few digits
    weights = [(uniform * width).astype(np.float32)]
    spikes = package_spikes(neurons, spike_matmul(weights[0], ids, counts) * scale)
    if neurons.recurrent:
        weights = with_recurrent_weights(
            rng, uniform, width, counts, spikes, neurons.recurrent_weights
        )
        currents = spike_matmul(weights[0], ids, counts) * scale
        spikes = package_spikes(neurons, currents, weights[1])
    if not spikes.any():
        raise ValueError(
            f"layer {index + 1} ({neurons.neuron.name}) sends no spikes with currents of standard "
            f"deviation {std:g}: raise network.initial_membrane_std, or change its parameters"
        )
    layer: Any = spec.network.layers[index]
    if layer.bias:
        weights.append(np.zeros(neurons.neurons, np.float32))
    return weights, dense_to_sparse(spikes)


def _loaded(reference: str) -> LoadedPackage:
    return _load(reference, signed_off_packages(os.environ))


@lru_cache(maxsize=64)
def _load(reference: str, allowed: Tuple[str, ...]) -> LoadedPackage:
    return load_package(reference, allowed)
