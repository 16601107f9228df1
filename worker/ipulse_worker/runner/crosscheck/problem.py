"""The problem that every back end solves: a network, its weights, input spikes and a loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple

import numpy as np

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.errors import Conflict
from ipulse_core.spec.conv_layers import conv_layers
from ipulse_core.spec.derived_values import (
    grows_capacity,
    has_own_loss,
    loss_name,
    spiking_layers,
)
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.part_layers import part_layers, part_name
from ipulse_core.spec.start_weights import CONSTANTS, layer_names
from ipulse_ops.lif.network import Network
from ipulse_ops.lif.weight_types import rounded
from ipulse_ops.training.standardised_weights import deviation_of
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.arrays_in_use import (
    DEVIATION,
    arrays_in_use,
    is_standardised,
    rule_of,
)
from ipulse_worker.runner.model.initial_weights import initial_weights
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.model.start_weights import start_weights
from ipulse_worker.runner.model.weight_names import weight_names
from ipulse_worker.runner.randomness import Purpose, stream
from ipulse_worker.runner.results.nir_dialects import weights_dtype

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
    spec: ExperimentSpec,
    dataset: Dataset,
    samples: int,
    steps: int,
    directory: Optional[DataDirectory] = None,
) -> CrosscheckProblem:
    """Make a problem of the first `steps` time steps of the first `samples` training samples.

    The weights are those that a training begins with, as its runs read them: standardised,
    quantised and rounded.

    Args:
        spec: of the training.
        dataset: its data.
        samples: number of samples, at most.
        steps: number of steps, at most.
        directory: where network.initial.file is.

    Raises:
        Conflict: the network has convolutions, custom ops, equations or packages of neurons, whose
            runs are not compared, or begins with weights that are not on this machine.
        DataUnavailable, DataInvalid: network.initial.file cannot be read, or does not fit.
    """
    if part_layers(spec.network) or conv_layers(spec.network):
        parts = part_name(spec.network) if part_layers(spec.network) else "convolutions"
        raise Conflict(
            f"only fully connected LIF layers are compared, and this network has {parts}: submit "
            "it once for each device, and compare the jobs with `ipulse compare`"
        )
    initial = spec.network.initial
    if initial is not None and initial.file is None:
        raise Conflict(
            "network.initial names an upload, which only jobs receive: save the file in the data "
            "directory and name it in network.initial.file"
        )
    start = start_weights(spec, directory or DataDirectory(None))
    given = {} if start is None else start.arrays
    network = _with_constants(network_of(spec).without_dropout(), spec, given)
    ids, counts = dataset.trains.batch(dataset.training[:samples])
    ids, counts = ids[:steps].astype(np.int32), counts[:steps]
    rng = stream(Purpose.WEIGHTS, spec.seed, 1)

    def drawn(neurons: int) -> Any:
        return rng.normal(size=(*counts.shape, neurons)).astype(np.float32)

    return CrosscheckProblem(
        network=network,
        trainable=spec.network.trainable,
        weights=_weights_in_use(spec, dataset, given),
        ids=ids,
        counts=counts,
        seed=spec.seed,
        by_membrane=drawn(network.readout.neurons),
        by_spikes=[drawn(layer.neurons) for layer in network.spiking],
    )


def notes_of(spec: ExperimentSpec) -> Iterator[str]:
    """Yield how the network of the comparison differs from that of a training step."""
    layers = (*spec.network.layers, spec.network.readout)
    if has_own_loss(spec.training):
        yield (
            f"the loss {loss_name(spec.training)} is not applied: gradients are those of weighted "
            "sums of membranes and spikes, whatever training.loss is"
        )
    if any(field_of(layer, "dropout") for layer in layers):
        yield "no spikes are dropped by dropout, as in an evaluation"
    if any(rule_of(layer) or is_standardised(layer) for layer in layers):
        yield (
            "weights are standardised and quantised before the runs; gradients are those of the "
            "weights in use"
        )
    if any(map(grows_capacity, spiking_layers(spec.network))):
        yield "capacities are the initial ones"
    if spec.training.second_threshold_ramp is not None:
        yield "second thresholds are the final ones, without training.second_threshold_ramp"
    if field_of(spec.device, "weights_dtype") == "float16":
        yield "weights are float32, and device.weights_dtype is float16"
    if field_of(spec.device, "states_dtype") == "float16":
        yield "states are float32, and device.states_dtype is float16"
    if field_of(spec.device, "ipus") > 1:
        yield "the emulator has one IPU, whatever device.ipus is"


def _with_constants(
    network: Network, spec: ExperimentSpec, given: Mapping[str, np.ndarray]
) -> Network:
    """Return the network with the constants of neurons that a training begins with."""
    layers: List[Any] = []
    for name, layer in zip(layer_names(spec.network), (*network.layers, network.readout)):
        arrays = {constant: given.get(f"{name}_{constant}") for constant in CONSTANTS}
        found: Dict[str, Any] = {
            key: array.astype(float) for key, array in arrays.items() if array is not None
        }
        layers.append(replace(layer, **found))
    return replace(network, layers=tuple(layers[:-1]), readout=layers[-1])


def _weights_in_use(
    spec: ExperimentSpec, dataset: Dataset, given: Mapping[str, np.ndarray]
) -> List[np.ndarray]:
    names = weight_names(spec)
    arrays: Dict[str, np.ndarray] = {name: given[name] for name in names if name in given}
    if len(arrays) < len(names):
        arrays = {**dict(zip(names, initial_weights(spec, dataset))), **arrays}
    layers = (*spec.network.layers, spec.network.readout)
    deviations = {
        f"{name}{DEVIATION}": deviation_of(arrays[name]).numpy()
        for name, layer in zip(layer_names(spec.network), layers)
        if is_standardised(layer)
    }
    in_use = arrays_in_use(spec, {**arrays, **deviations})
    dtype = weights_dtype(spec)
    return [
        np.asarray(rounded(in_use[name], dtype)) if in_use[name].ndim == 2 else in_use[name]
        for name in names
    ]
