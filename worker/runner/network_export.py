"""The trained network as a NIR graph, for simulators of every kind.

NIR's neurons are differential equations, tau dv/dt = (v_leak - v) + r I. Solved over one step of
dt with constant input they give our update exactly, with

    decay = exp(-dt / tau)      gain = r      v_leak = v_reset = 0

(the exponential step, not Euler's `decay = 1 - dt / tau`). A spike is a current of 1 during one
step. NIR has no word for slots, so a network that drops spikes behaves differently there; the
metadata says how many it dropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Sequence, Tuple, Union

import numpy as np

from ipulse.errors import MissingDependency
from ipulse.spec import ExperimentSpec

# exp(-NO_MEMORY) is 0 in double precision: what stands for a decay of 0, whose tau would be 0.
NO_MEMORY = 1000.0

Metadata = Dict[str, Union[str, float, int]]


def require_nir() -> None:
    """Raises MissingDependency, with the cure, where the nir package does not load.

    Asked before training, because hours of it would be a high price for a missing package.
    """
    try:
        import nir  # noqa: F401  (only whether it loads)
    except ImportError as error:
        raise MissingDependency(
            f"the network is exported with the nir package, which does not load here ({error}): "
            "install the worker's requirements, or `pip install nir`, into the runner's environment"
        ) from error


def write_nir(
    path: Path, spec: ExperimentSpec, weights: Sequence[np.ndarray], dropped_spikes: int
) -> None:
    """Writes the graph to `path`.

    weights: float32 `[N_in, N_out]` of each layer and the readout; NIR keeps the transpose.
    dropped_spikes: spikes without a slot on the held-out samples.

    Raises MissingDependency as `require_nir` does.
    """
    require_nir()
    import h5py  # type: ignore[import-untyped]  # it publishes no types
    import nir

    step_s = spec.data.step_ms / 1000.0
    nodes: List[Tuple[str, nir.NIRNode]] = []
    nodes.append(("input", nir.Input(input_type={"input": np.array([spec.data.inputs])})))
    for number, (layer, matrix) in enumerate(zip(spec.network.layers, weights), start=1):
        shape = (layer.neurons,)
        nodes.append((f"weights_{number}", nir.Linear(weight=_transposed(matrix))))
        lif = nir.LIF(
            tau=np.full(shape, tau_s(layer.decay, step_s)),
            r=np.full(shape, layer.gain),
            v_leak=np.zeros(shape),
            v_threshold=np.full(shape, layer.threshold),
        )
        nodes.append((f"lif_{number}", lif))
        if spec.network.delay:
            delay = nir.Delay(delay=np.full(shape, spec.network.delay * step_s))
            nodes.append((f"delay_{number}", delay))
    readout, shape = spec.network.readout, (spec.data.classes,)
    nodes.append(("weights_readout", nir.Linear(weight=_transposed(weights[-1]))))
    integrator = nir.LI(
        tau=np.full(shape, tau_s(readout.decay, step_s)),
        r=np.full(shape, readout.gain),
        v_leak=np.zeros(shape),
    )
    nodes.append(("readout", integrator))
    nodes.append(("output", nir.Output(output_type={"output": np.array(shape)})))

    names = [name for name, _ in nodes]
    nir.write(str(path), nir.NIRGraph(nodes=dict(nodes), edges=list(zip(names, names[1:]))))
    # NIR 1.0 writes no metadata; where later releases do, this is where they put it.
    with h5py.File(str(path), "a") as file:
        group = file["node"].create_group("metadata")
        for key, value in _metadata(spec, step_s, dropped_spikes).items():
            group.create_dataset(key, data=value)


def tau_s(decay: float, step_s: float) -> float:
    """The time constant in seconds of which `decay` remains after a step of `step_s`."""
    return float(-step_s / np.log(decay)) if decay > 0 else step_s / NO_MEMORY


def _transposed(matrix: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(matrix.T)


def _metadata(spec: ExperimentSpec, step_s: float, dropped_spikes: int) -> Metadata:
    return {
        "name": spec.name,
        "dt": step_s,
        "time_unit": "s",
        "discretization": "decay = exp(-dt / tau); v = decay * v + (1 - decay) * r * I",
        "input": "a spike is a current of 1 during one step of dt",
        "spike": "where v > v_threshold, strictly; v becomes 0 before the next step",
        "logits": "mean of the readout's v over all steps",
        "steps": spec.data.steps,
        "dropped_spikes": dropped_spikes,
    }
