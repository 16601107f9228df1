"""Exports of the trained network as NIR graphs that other simulators run as they stand.

Simulators read NIR in dialects. The same network is written for each with

    r = 1 and w_in = 1           by the gain, which is multiplied into the weights and the bias
    tau = -dt / ln(decay)        where NIR's equation is solved exactly (generic)
    tau = dt / (1 - decay)       where a step is Euler's (Norse, snnTorch)

snnTorch's step is fixed at 0.1 ms, it adds the input without a factor, as r = tau / dt says, and
has one threshold per layer: the weights take the factors and thresholds. Neither simulator runs
NIR's LI. A leaky readout is there a LIF whose threshold is never reached: its membrane is the
readout.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, List, Mapping, Optional

import numpy as np

from ipulse_core.derived_values import class_count, input_channels
from ipulse_core.nir_targets import SIMULATORS, file_name, losses
from ipulse_ops.training.weight_types import rounded
from ipulse_worker.runner.results.nir_export import (
    Graph,
    constant_of,
    metadata_of,
    require_nir,
    tau_s,
    write_graph,
)

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

SNNTORCH_STEP_S = 1e-4
NEVER = 1e30  # a threshold that no membrane reaches


@dataclass(frozen=True)
class _Scales:
    """The constants of one layer, for every neuron."""

    decay: np.ndarray
    synapse: Optional[np.ndarray]
    threshold: np.ndarray
    gain: float
    fires: bool


@dataclass(frozen=True)
class NirExport:
    """One file of the spec's export.nir, and how it differs from the trained network."""

    target: str
    file: str
    written: bool
    left_out: List[str]  # what the target cannot run
    notes: List[str]  # how to load the file, and what it expresses by other means


def nir_exports(spec: ExperimentSpec, dropped_spikes: int) -> List[NirExport]:
    """Return the files that the spec asks for; `dropped_spikes` are of the held-out samples."""
    found = []
    for export in spec.export.nir:
        left_out = [loss for _, loss in losses(spec.network, export.target)]
        if dropped_spikes:
            left_out.append(
                f"the capacity: it dropped {dropped_spikes:,} spikes of the held-out samples, and "
                "NIR does not limit the spikes per step"
            )
        found.append(
            NirExport(
                target=export.target,
                file=file_name(export.target),
                written=export.on_loss == "warn" or not left_out,
                left_out=left_out,
                notes=list(_notes(spec, export.target)),
            )
        )
    return found


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
    if target != "generic" and spec.network.readout.kind == "leaky":
        yield "the leaky readout is a neuron that never spikes: read its membrane"
    if _weights_dtype(spec) != "float32":
        yield f"weights are rounded to {_weights_dtype(spec)}, as runs read them"


def write_target(
    path: Path,
    spec: ExperimentSpec,
    arrays: Mapping[str, np.ndarray],
    export: NirExport,
    dropped_spikes: int,
) -> None:
    """Write the graph of an export to `path`.

    Args:
        path: of the new file.
        spec: of the training.
        arrays: the trained arrays, as Model.arrays.
        export: one of nir_exports.
        dropped_spikes: on the held-out samples.
    """
    require_nir()
    writer = _Writer(spec, arrays, export.target)
    metadata = metadata_of(spec, writer.step_s, dropped_spikes)
    metadata["discretization"] = writer.discretization
    metadata["synapse"] = "CubaLIF: the same with tau_syn and w_in in front of the membrane"
    metadata["target"] = SIMULATORS[export.target]
    metadata["left_out"] = "; ".join(export.left_out)
    metadata["notes"] = "; ".join(export.notes)
    write_graph(path, writer.graph(), metadata)


class _Writer:
    """Builds the graph of one network for one target."""

    def __init__(self, spec: ExperimentSpec, arrays: Mapping[str, np.ndarray], target: str) -> None:
        self._spec, self._arrays, self._target = spec, arrays, target
        self._subtracts = spec.network.reset == "subtract"
        self.step_s = SNNTORCH_STEP_S if target == "snntorch" else spec.data.step_ms / 1000.0
        self.discretization = {
            "generic": "decay = exp(-dt / tau); v = decay * v + (1 - decay) * r * I",
            "norse": "decay = 1 - dt / tau; v = decay * v + (1 - decay) * r * I",
            "snntorch": "decay = 1 - dt / tau; v = decay * v + (dt / tau) * r * I",
        }[target]

    def graph(self) -> Any:
        """Return the NIR graph."""
        import nir

        spec = self._spec
        graph = Graph(input_channels(spec.data), class_count(spec.data))
        for number, layer in enumerate(spec.network.layers, start=1):
            self._append(graph, layer, layer.neurons, f"layer_{number}", f"{number}")
            if spec.network.delay and self._target == "generic":
                delay = np.full(layer.neurons, spec.network.delay * self.step_s)
                graph.append(f"delay_{number}", nir.Delay(delay=delay))
        self._append(graph, spec.network.readout, class_count(spec.data), "readout", "readout")
        return graph.finished()

    def _append(self, graph: Graph, layer: Any, neurons: int, name: str, suffix: str) -> None:
        scales = self._scales(layer, neurons, name)
        graph.append(f"weights_{suffix}", self._weights(name, scales))
        here = "readout" if name == "readout" else f"lif_{suffix}"
        if not scales.fires and self._target == "generic":
            self._append_integrators(graph, scales)
            return
        graph.append(here, self._neurons(scales))
        if getattr(layer, "recurrent", False) and self._target != "snntorch":
            graph.loop(f"recurrent_{suffix}", self._weights(f"{name}_recurrent", scales))

    def _scales(self, layer: Any, neurons: int, name: str) -> _Scales:
        fires = hasattr(layer, "threshold")
        synapse = layer.synapse_decay
        return _Scales(
            decay=constant_of(layer, "decay", neurons, self._arrays, name),
            synapse=None
            if synapse is None
            else constant_of(layer, "synapse_decay", neurons, self._arrays, name),
            threshold=constant_of(layer, "threshold", neurons, self._arrays, name)
            if fires
            else np.full(neurons, NEVER),
            gain=layer.gain,
            fires=fires,
        )

    def _weights(self, name: str, scales: _Scales) -> Any:
        """Return the node of a matrix, and its bias, times all factors of the neurons behind."""
        import nir

        factor = np.full(len(scales.decay), float(scales.gain))
        if self._target == "snntorch":
            factor *= 1 - scales.decay
            if scales.synapse is not None:
                factor *= 1 - scales.synapse
            if scales.fires:
                factor /= scales.threshold
        narrow = np.asarray(rounded(self._arrays[name], _weights_dtype(self._spec)))
        matrix = _float32(narrow.T.astype(np.float64) * factor[:, np.newaxis])
        bias = self._arrays.get(f"{name}_bias")
        if bias is None:
            return nir.Linear(weight=matrix)
        return nir.Affine(weight=matrix, bias=_float32(bias.astype(np.float64) * factor))

    def _neurons(self, scales: _Scales) -> Any:
        import nir

        tau, ones = self._tau(scales.decay), np.ones(len(scales.decay))
        threshold, r = scales.threshold, ones
        if self._target == "snntorch":
            threshold = ones if scales.fires else scales.threshold
            r = tau / self.step_s
        common = {"v_leak": 0 * ones, "v_threshold": threshold, "r": r}
        synapse = scales.synapse
        if synapse is None and self._target == "norse" and self._subtracts and scales.fires:
            synapse = 0 * ones  # Norse takes reset_method for CubaLIFs only
        if synapse is None:
            return nir.LIF(tau=tau, **common)
        tau_syn = self._tau(synapse)
        w_in = tau_syn / self.step_s if self._target == "snntorch" else ones
        return nir.CubaLIF(tau_mem=tau, tau_syn=tau_syn, w_in=w_in, **common)

    def _append_integrators(self, graph: Graph, scales: _Scales) -> None:
        import nir

        ones = np.ones(len(scales.decay))
        if scales.synapse is not None:
            # NIR 1.0 has no leaky integrator with a synapse: the synapse is a separate node.
            tau = self._tau(scales.synapse)
            graph.append("synapse_readout", nir.LI(tau=tau, r=ones, v_leak=0 * ones))
        graph.append("readout", nir.LI(tau=self._tau(scales.decay), r=ones, v_leak=0 * ones))

    def _tau(self, decay: np.ndarray) -> np.ndarray:
        if self._target == "generic":
            return tau_s(decay, self.step_s)
        tau: np.ndarray = self.step_s / (1 - decay)
        return tau


def _weights_dtype(spec: ExperimentSpec) -> str:
    return spec.device.weights_dtype if spec.device.kind == "cpu" else "float32"


def _float32(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.float32)
