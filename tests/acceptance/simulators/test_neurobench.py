"""NeuroBench counts the same synaptic operations, of random networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_core.spec.conv_layers import conv_geometries, planes_of
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.start_weights import layer_names
from ipulse_ops.reference.spikes import dense_to_sparse
from ipulse_worker.runner.training.synaptic_operations import OperationCounter, operations
from tests.worker.runner.nir.convolutions import as_planes, drawn, run
from tests.worker.runner.trainings import spec_of

from .environment import Simulators

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1800)]

COUNT, SAMPLES = 50, 3
# Sums of their multiples are exact in any order.
NEURON = {"decay": 0.5, "gain": 2.0, "threshold": 1.0}
GRAIN = 16


def random_spec(random: np.random.RandomState) -> Any:
    """Draw a network of up to two convolutions and up to two dense layers."""
    shape = [int(n) for n in random.randint([1, 7, 7], [3, 9, 9])]
    channels = shape[0]
    layers: list[dict[str, Any]] = []
    for _ in range(random.randint(3)):
        groups = int(random.choice([1, channels]))
        channels = groups * int(random.randint(1, 3))
        convolution = {
            "kind": "conv2d",
            "filters": channels,
            "kernel_size": [int(n) for n in random.randint(1, 4, 2)],
            "strides": [int(random.randint(1, 3)), 1],
            "padding": [int(n) for n in random.randint(1, 3, 2)],
            "groups": groups,
        }
        if random.rand() < 0.5:
            convolution["pool"] = {"kind": "sum", "pool_size": [1, 2]}
        layers.append({**convolution, **NEURON})
    for _ in range(random.randint(0 if layers else 1, 3)):
        dense = {"neurons": int(random.randint(2, 9)), "recurrent": bool(random.rand() < 0.5)}
        layers.append({**dense, "bias": bool(random.rand() < 0.3), **NEURON})
    for layer in layers[1:]:
        layer["delay"] = int(random.randint(3))
    data = {"kind": "npz", "name": "drawn", "shape": shape, "channels": int(np.prod(shape))}
    return spec_of(
        data={**data, "steps": int(random.randint(6, 12)), "classes": int(random.randint(2, 5))},
        network={
            "layers": layers,
            "readout": {"decay": 0.5, "gain": 2.0, "delay": int(random.randint(2))},
            "reset": str(random.choice(["zero", "subtract"])),
        },
    )


def described(spec: Any) -> dict[str, Any]:
    """Return what the program needs to build the network."""
    geometries = conv_geometries(spec)
    layers = []
    for at, name in enumerate(layer_names(spec.network)):
        conv, pool = None, (1, 1)
        if at < len(geometries):
            one = geometries[at]
            conv = {"stride": one.strides, "padding": one.padding, "dilation": one.dilation}
            conv["groups"], pool = one.groups, one.pool
        delay = input_delays(spec.network)[at]
        layers.append({"name": name, "conv": conv, "pool": pool, "delay": delay})
    return {"reset": spec.network.reset, "layers": layers}


def counted(spec: Any, arrays: dict[str, np.ndarray], spikes: np.ndarray) -> dict[str, Any]:
    """Return our counts, of the spikes of the reference."""
    sent, _ = run(spec, arrays, spikes)
    geometries = conv_geometries(spec)
    lists = [dense_to_sparse(spikes)]
    for at, of_layer in enumerate(sent):
        if at < len(geometries):  # filters first, as NIR has them
            planes = of_layer.reshape(*of_layer.shape[:2], *geometries[at].neuron_shape)
            of_layer = np.moveaxis(planes, 2, -1).reshape(of_layer.shape)
        lists.append(dense_to_sparse(of_layer.astype(np.float32)))
    counter = OperationCounter(spec)
    counter.add(lists)
    total = sum(float(each.sum()) for each in sent)
    return operations(spec, counter, arrays, 0, total / SAMPLES, 0.0)


def test_its_counts_of_random_networks_are_ours(simulators: Simulators, tmp_path: Path) -> None:
    random = np.random.RandomState(17)
    networks, files, ours = [], {}, []
    for number in range(COUNT):
        spec = random_spec(random)
        arrays = {
            name: (np.round(GRAIN * array) / GRAIN).astype(np.float32)
            for name, array in drawn(spec, random).items()
        }
        sites = planes_of(spec.data).sites
        spikes = (random.rand(spec.data.steps, SAMPLES, sites) < 0.3).astype(np.float32)
        networks.append(described(spec))
        planes = as_planes(spec, spikes) if conv_geometries(spec) else spikes
        given = {**arrays, "spikes": np.moveaxis(planes, 1, 0)}
        files |= {f"{number}/{name}": array for name, array in given.items()}
        ours.append(counted(spec, arrays, spikes))
    theirs = simulators.benchmark(networks, files, tmp_path)
    kinds = {"conv": 0, "recurrent": 0, "spikes": 0}
    for number, (own, other) in enumerate(zip(ours, theirs, strict=True)):
        whole = {
            name: other[name] * SAMPLES for name in ("Dense", "Effective_ACs", "Effective_MACs")
        }
        place = f"network {number}: {networks[number]}"
        assert own["dense"] * SAMPLES == round(whole["Dense"]), place
        effective = whole["Effective_ACs"] + whole["Effective_MACs"]
        assert own["total_effective"] == round(effective), place
        assert own["parameters"] == other["ParameterCount"], place
        assert own["connection_sparsity"] == pytest.approx(other["ConnectionSparsity"], abs=6e-5)
        assert own["activation_sparsity"] == pytest.approx(other["ActivationSparsity"]), place
        kinds["conv"] += any(layer["conv"] for layer in networks[number]["layers"])
        kinds["recurrent"] += any(
            name.startswith(f"{number}/") and "recurrent" in name for name in files
        )
        kinds["spikes"] += own["total_effective"] > own["layers"][0]["total_effective"]
    assert min(kinds.values()) > COUNT / 4, kinds
