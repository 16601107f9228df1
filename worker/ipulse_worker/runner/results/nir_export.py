"""Exports of the trained network as NIR files: which ones, and what they do not express.

Every job writes network.nir, unless NIR lacks its neurons. The spec's export.nir asks for files
that other simulators run as they stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Tuple, cast

from ipulse_core.spec.composed_layers import NOT_IN_NIR, is_in_nir
from ipulse_core.spec.conv_layers import conv_geometries, conv_layers
from ipulse_core.spec.derived_values import (
    first_capacity,
    has_own_loss,
    loss_name,
    spiking_layers,
)
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_values import prediction_of_spec
from ipulse_core.spec.nir_targets import (
    MULTIPLE_SPIKES,
    NO_ADAPTATION,
    SIMULATORS,
    SUBTRACTED,
    delays_left_out,
    file_name,
    losses,
)
from ipulse_core.spec.part_layers import part_layers, part_name
from ipulse_worker.runner.model.arrays_in_use import rule_of
from ipulse_worker.runner.results.crossings import Crossings
from ipulse_worker.runner.results.nir_dialects import (
    DISCRETIZATIONS,
    has_one_value,
    weights_dtype,
)
from ipulse_worker.runner.results.nir_file import Metadata, require_nir, write_graph
from ipulse_worker.runner.results.nir_network import Arrays, NetworkGraph

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

NO_CAPACITY = "NIR does not limit the spikes per step"

_SPIKE_AT_THRESHOLD = ("sinabs", "spikingjelly", "rockpool")  # targets that compare with >=
_RESETS = {
    "zero": "v becomes 0 before the next step",
    "subtract": f"{SUBTRACTED} before the next step",
    "none": "v is unchanged",
}
_LOGITS = {
    "mean_membrane_cross_entropy": "mean of the readout's v over all steps",
    "max_membrane_cross_entropy": "largest value of the readout's v over all steps",
    "step_cross_entropy": "the readout's v at each step; the class with the largest v most often",
    "spike_count_cross_entropy": "number of the readout's spikes over all steps",
    "spike_count_mse": "number of the readout's spikes over all steps",
    "last_membrane_cross_entropy": "the readout's v at the last step",
    "first_spike_cross_entropy": "minus the step of the readout's first spike",
    "step_mse": "the readout's v at each step, which are the outputs of a regression",
    "mean_membrane_mse": "mean of the readout's v over all steps, the outputs of a regression",
    "last_membrane_mse": "the readout's v at the last step, the outputs of a regression",
}


@dataclass(frozen=True)
class NirExport:
    """One file of the spec's export.nir, and how it differs from the trained network."""

    target: str
    file: str
    written: bool
    left_out: List[str]  # what the target cannot run
    notes: List[str]  # how to load the file, and what it expresses by other means


def nir_exports(
    spec: ExperimentSpec,
    arrays: Arrays,
    dropped_spikes: int,
    crossings: Optional[Crossings] = None,
) -> Tuple[NirExport, ...]:
    """Return the files that the spec asks for.

    Args:
        spec: of the training.
        arrays: the trained arrays, as Model.arrays.
        dropped_spikes: on the test samples.
        crossings: of test samples, see `needs_crossings`.
    """
    found = []
    for export in spec.export.nir:
        left_out = [loss for _, loss in losses(spec.network, export.target, arrays)]
        if dropped_spikes:
            left_out.append(
                f"the capacity: it dropped {dropped_spikes:,} spikes of the test samples, and "
                f"{NO_CAPACITY}"
            )
        if crossings is not None:
            left_out += other_spikes(export.target, crossings)
        found.append(
            NirExport(
                target=export.target,
                file=file_name(export.target),
                written=export.on_loss == "warn" or not left_out,
                left_out=left_out,
                notes=list(_notes(spec, export.target)),
            )
        )
    return tuple(found)


def needs_crossings(spec: ExperimentSpec) -> bool:
    """Return whether a target spikes differently at some membranes, which must be measured."""
    return any(export.target in _SPIKE_AT_THRESHOLD for export in spec.export.nir)


def other_spikes(target: str, crossings: Crossings) -> Iterator[str]:
    """Yield the membranes of test samples at which the target spikes differently."""
    on = f"of {crossings.samples:,} test samples"
    if target in _SPIKE_AT_THRESHOLD and crossings.equal:
        yield (
            f"{crossings.equal:,} membranes {on} that equal their threshold: {SIMULATORS[target]} "
            "spikes there"
        )
    if target in MULTIPLE_SPIKES and crossings.double:
        yield (
            f"{crossings.double:,} membranes {on} above twice their threshold: "
            f"{SIMULATORS[target]} spikes more than once there; a bound of the kind `membrane` "
            "with twice the threshold as `high` makes them fewer"
        )


def _notes(spec: ExperimentSpec, target: str) -> Iterator[str]:
    yield "gains are multiplied into the weights"
    if target == "norse":
        reset = ", reset_method=reset_subtract" if spec.network.reset == "subtract" else ""
        yield f"load with norse.torch.from_nir(graph, dt={spec.data.step_ms / 1000.0!r}{reset})"
        if reset:
            yield "reset_subtract is in norse.torch.functional.reset; without it, v becomes 0"
    if target == "snntorch":
        yield "load with snntorch.import_nir.import_from_nir(graph)"
        yield "one step is 0.1 ms, the only one of snnTorch; thresholds are 1"
    if target == "spikingjelly":
        yield (
            "load with spikingjelly.activation_based.nir_exchange.import_from_nir(graph, "
            f"dt={spec.data.step_ms / 1000.0!r}); thresholds are 1"
        )
    if target == "sinabs":
        yield f"load with sinabs.nir.from_nir(graph, num_timesteps={spec.data.steps})"
        yield "times are in steps; thresholds are 1; it reads this file with nir up to 1.0.4"
    if target == "rockpool":
        yield "load with rockpool.nn.modules.torch.nir.from_nir(graph), with nir up to 1.0.4"
        yield "without a synapse, weights are divided by the decay of one that forgets"
    if target in ("norse", "snntorch", "spikingjelly") and spec.network.readout.kind == "leaky":
        yield "the leaky readout is a neuron that never spikes: read its membrane"
    if any(map(rule_of, [*spec.network.layers, spec.network.readout])):
        yield "quantised weights are integers times their scale, times the gains"
    if conv_layers(spec.network):
        yield "the input is [channels, height, width]"
        if any(len(set(geometry.kernel)) > 1 for geometry in conv_geometries(spec)):
            yield "nir 1.0.8 reads it with type_check=False, because kernels are not square"
        if target != "generic":
            yield (
                "fully connected layers are convolutions of planes of one site, and the output is "
                "[classes, 1, 1]"
            )
    if weights_dtype(spec) != "float32":
        yield f"weights are rounded to {weights_dtype(spec)}, as runs read them"


def left_out(spec: ExperimentSpec) -> List[str]:
    """List the properties of the network that network.nir does not express."""
    if any(first_capacity(layer) is not None for layer in spiking_layers(spec.network)):
        return [f"the capacity: {NO_CAPACITY}"]
    return []


def not_written(spec: ExperimentSpec) -> Optional[str]:
    """Return why network.nir would be another network and is not written, or None."""
    if part_layers(spec.network):
        return f"{part_name(spec.network)} are not exported to NIR"
    if not is_in_nir(spec):
        return f"{NOT_IN_NIR} are not exported to NIR"
    layers = spiking_layers(spec.network)
    adapts = any(field_of(layer, "adaptation") is not None for layer in layers)
    return NO_ADAPTATION if adapts else delays_left_out(spec.network)


def write_network(path: Path, spec: ExperimentSpec, arrays: Arrays, dropped_spikes: int) -> None:
    """Write network.nir to `path`; the arguments are those of `nir_exports`.

    Raises:
        MissingDependency: the nir package cannot be imported.
    """
    require_nir()
    graph = NetworkGraph(spec, arrays)
    metadata = _metadata(spec, graph.step_s, dropped_spikes, "generic")
    metadata["left_out"] = "; ".join(left_out(spec))
    write_graph(path, graph.build(), metadata)


def write_export(
    path: Path, spec: ExperimentSpec, arrays: Arrays, export: NirExport, dropped_spikes: int
) -> None:
    """Write one of `nir_exports` to `path`; the other arguments are those of `nir_exports`.

    Raises:
        MissingDependency: the nir package cannot be imported.
    """
    require_nir()
    graph = NetworkGraph(spec, arrays, export.target)
    metadata = _metadata(spec, graph.step_s, dropped_spikes, export.target)
    metadata["target"] = SIMULATORS[export.target]
    metadata["left_out"] = "; ".join(export.left_out)
    metadata["notes"] = "; ".join(export.notes)
    one = has_one_value(export.target)
    write_graph(path, graph.build(), metadata, has_one_value=one)


def _logits(spec: ExperimentSpec) -> str:
    """Return what the classes are predicted by."""
    if not has_own_loss(spec.training):
        return _LOGITS[loss_name(spec.training)]
    own = cast(Any, spec.training.loss)
    values = [f"{each.name} = {each.value}" for each in own.values]
    return "; ".join([*values, own.prediction or prediction_of_spec(spec)])


def _metadata(spec: ExperimentSpec, step_s: float, dropped_spikes: int, target: str) -> Metadata:
    """Return the conventions of the graph, which a reader needs."""
    in_steps = target == "sinabs"
    return {
        "name": spec.name,
        "dt": step_s,
        "time_unit": "step" if in_steps else "s",
        "discretization": DISCRETIZATIONS[target],
        "synapse": "CubaLIF: the same with tau_syn and w_in in front of the membrane",
        "input": "a spike is a current of 1 during one step of dt",
        "recurrent": "a layer's own spikes arrive one dt later",
        "spike": f"where v > v_threshold, strictly; {_RESETS[spec.network.reset]}",
        "logits": _logits(spec),
        "steps": spec.data.steps,
        "dropped_spikes": dropped_spikes,
    }
