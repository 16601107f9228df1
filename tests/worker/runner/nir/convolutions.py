"""Convolutional networks to export, and what they do by the reference."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np

from ipulse_core.spec.conv_geometry import Planes
from ipulse_core.spec.conv_layers import planes_of
from ipulse_core.spec.derived_values import spiking_layers
from ipulse_core.spec.start_weights import connection_delays
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.reference.spikes import dense_to_sparse, sparse_to_dense
from ipulse_worker.runner.model.network import convolutions_of, network_of
from ipulse_worker.runner.model.reference_run import run_reference
from ipulse_worker.runner.model.weight_names import weight_names
from tests.worker.runner.trainings import spec_of

STEPS = 40
DIGITS = {"kind": "digits", "samples": 50, "steps": STEPS}
FLAT = {
    "kind": "npz",
    "name": "flat",
    "channels": 32,
    "shape": [2, 1, 16],
    "steps": STEPS,
    "classes": 4,
}
# The data set and the network of each.
NETWORKS: Dict[str, Tuple[Dict[str, Any], Dict[str, Any]]] = {
    "pools": (
        DIGITS,
        {
            "layers": [
                {"kind": "conv2d", "filters": 6, "kernel_size": 3, "padding": "same", "pool": {}},
                {
                    "kind": "conv2d",
                    "filters": 8,
                    "kernel_size": 2,
                    "padding": "same",
                    "bias": True,
                    "pool": {"kind": "average"},
                },
                {"neurons": 20},
            ]
        },
    ),
    "groups": (
        DIGITS,
        {
            "layers": [
                {
                    "kind": "conv2d",
                    "filters": 6,
                    "kernel_size": [3, 2],
                    "strides": [1, 2],
                    "padding": "same",
                },
                {
                    "kind": "conv2d",
                    "filters": 6,
                    "kernel_size": 2,
                    "dilation_rate": 3,
                    "groups": 3,
                    "padding": [2, 1],
                },
            ],
            "readout": {"kind": "spiking"},
        },
    ),
    "flat": (
        FLAT,
        {
            "layers": [
                {
                    "kind": "conv1d",
                    "filters": 5,
                    "kernel_size": 4,
                    "strides": 2,
                    "padding": 3,
                    "pool": {"pool_size": 2},
                },
                {"neurons": 20},
                {"neurons": 12},
            ]
        },
    ),
    "recurrent": (
        DIGITS,
        {
            "layers": [
                {"kind": "conv2d", "filters": 4, "kernel_size": 3},
                {"neurons": 20, "recurrent": True},
            ]
        },
    ),
}
# Only the target generic has delays.
DELAYED: Dict[str, Tuple[Dict[str, Any], Dict[str, Any]]] = {
    "of layers": (
        DIGITS,
        {
            "layers": [
                {"kind": "conv2d", "filters": 6, "kernel_size": 3, "pool": {}, "delay": 1},
                {"kind": "conv2d", "filters": 8, "kernel_size": 2, "padding": "same", "delay": 4},
                {"neurons": 20},
            ],
            "delay": 2,
        },
    ),
    "of synapses": (
        FLAT,
        {
            "layers": [
                {"kind": "conv1d", "filters": 5, "kernel_size": 4, "pool": {"pool_size": 3}},
                {"neurons": 20, "bias": True, "delays": {"longest": 6}},
            ],
            "readout": {"delay": 3},
        },
    ),
    "of senders": (
        DIGITS,
        {
            "layers": [{"kind": "conv2d", "filters": 6, "kernel_size": 3, "delay": 1}],
            "readout": {"delays": {"longest": 9, "per": "neuron", "rounded": True}},
        },
    ),
}


def spec_for(name: str, target: str) -> Any:
    """Return the spec of a network that is exported for a target."""
    data, network = {**NETWORKS, **DELAYED}[name]
    is_spiking = network.get("readout", {}).get("kind") == "spiking"
    return spec_of(
        data=data,
        network={**network, "reset": "subtract" if target == "sinabs" else "zero"},
        training={"loss": "spike_count_mse" if is_spiking else "mean_membrane_cross_entropy"},
        export={"nir": [{"target": target}]},
    )


def drawn(spec: Any, random: np.random.RandomState, scale: float = 1.0) -> Dict[str, np.ndarray]:
    """Draw weights."""
    arrays: Dict[str, np.ndarray] = {}
    for number, layer in enumerate(convolutions_of(spec), start=1):
        kernel = 1.5 * scale * random.randn(*layer.geometry.weights)
        arrays[f"layer_{number}"] = kernel.astype(np.float32)
        if layer.bias:
            bias = 0.1 * random.randn(layer.geometry.filters)
            arrays[f"layer_{number}_bias"] = bias.astype(np.float32)
    names = [name for name in weight_names(spec) if name not in arrays]
    for name, shape in zip(names, weight_shapes(network_of(spec))):
        arrays[name] = (scale * random.randn(*shape.shape)).astype(np.float32)
    for name, delays in connection_delays(spec.network).items():
        steps = random.randint(delays.longest + 1, size=arrays[name].shape)
        arrays[name] = steps.astype(np.float32)
    return arrays


def inputs_of(spec: Any, random: np.random.RandomState) -> np.ndarray:
    """Draw spikes `[time, batch, channels]`."""
    planes = planes_of(spec.data)
    assert planes is not None
    return (random.rand(STEPS, 4, planes.sites) < 0.1).astype(np.float32)


def as_planes(spec: Any, inputs: np.ndarray) -> np.ndarray:
    """Return the spikes as `[time, batch, channels, height, width]`."""
    planes = planes_of(spec.data)
    assert planes is not None
    return _channels_first(inputs, planes)


def run(
    spec: Any, arrays: Dict[str, np.ndarray], inputs: np.ndarray
) -> Tuple[List[np.ndarray], np.ndarray]:
    """Return the spikes of each layer `[time, batch, neurons]` in NIR's order, and the readout."""
    done = run_reference(spec, network_of(spec), arrays, *dense_to_sparse(inputs))
    spikes = [np.moveaxis(layer.spikes, -1, 2) for layer in done.convolutions]
    found = [planes.reshape(*planes.shape[:2], -1).astype(np.float64) for planes in spikes]
    # A leaky readout alone behind convolutions is described as neurons, and never spikes.
    for layer in done.network.layers[: len(spiking_layers(spec.network)) - len(found)]:
        counts = layer.spike_counts[..., 0]
        found.append(sparse_to_dense(layer.spike_ids, counts, layer.u.shape[2]))
    if spec.network.readout.kind == "spiking":
        return found, found[-1]
    return found, done.network.membrane


def _channels_first(values: np.ndarray, planes: Planes) -> np.ndarray:
    before = values.shape[:2]
    if planes.channels_first:
        return values.reshape(*before, planes.channels, planes.height, planes.width)
    shaped = values.reshape(*before, planes.height, planes.width, planes.channels)
    return np.ascontiguousarray(np.moveaxis(shaped, -1, 2))
