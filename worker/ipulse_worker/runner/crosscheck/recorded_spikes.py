"""Compares a network with spikes that another simulator recorded.

`python -m ipulse_worker.runner.crosscheck.recorded_spikes SPEC WEIGHTS RECORDED NODES` writes one
line of JSON: {"layers": [...]} or {"error": message}. SPEC is a resolved spec as JSON; NODES are
pairs of JSON for each layer, input side first: its name in RECORDED, and how many of its neurons,
the first ones, are recorded. A layer without a name is not.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

from ipulse_core.spec.derived_values import input_channels, spiking_layers
from ipulse_core.spec.resolved_spec import read_spec
from ipulse_ops.reference.spikes import dense_to_sparse, sparse_to_dense
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.model.reference_run import run_reference

INPUTS = "inputs"
MAX_VALUES = 2**28  # spikes of a layer


def main(arguments: Sequence[str]) -> int:
    """Compare and print the result."""
    spec_path, weights_path, recorded_path = map(Path, arguments[:3])
    try:
        spec = read_spec(json.loads(spec_path.read_text("utf-8")))
        with np.load(str(weights_path), allow_pickle=False) as found:
            weights = {name: found[name] for name in found.files}
        result: Dict[str, Any] = {
            "layers": compared(spec, weights, recorded_path, json.loads(arguments[3]))
        }
    except (OSError, ValueError, KeyError, EOFError, MemoryError) as error:
        result = {"error": str(error) or type(error).__name__}
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


def compared(
    spec: Any, weights: Dict[str, np.ndarray], path: Path, nodes: Sequence[Tuple[str, int]]
) -> List[Dict[str, Any]]:
    """Return for each recorded layer how many of its spikes differ, and the first that does.

    Raises:
        ValueError: the file has other arrays, shapes or values.
    """
    with np.load(str(path), allow_pickle=False) as found:
        recorded = {name: found[name] for name in found.files}
    if INPUTS not in recorded:
        raise ValueError(f"{path.name} has no array {INPUTS} [time, samples, channels]")
    inputs = _in_steps(recorded.pop(INPUTS), INPUTS)
    if not np.isin(inputs, (0, 1)).all():
        raise ValueError(f"{path.name}: {INPUTS} has values other than 0 and 1")
    emitting = nodes[: len(spiking_layers(spec.network))]
    spiking = [name for name, _ in emitting if name]
    unknown = sorted(set(recorded) - set(spiking))
    if unknown or not recorded:
        raise ValueError(
            f"{path.name} must have {INPUTS} and spikes of layers by the names of their nodes, "
            f"{', '.join(spiking)}; it has {', '.join(unknown) or 'none'}"
        )
    network = network_of(spec)
    channels = input_channels(spec.data)
    if inputs.shape[2] != channels:
        raise ValueError(f"{INPUTS} has {inputs.shape[2]:,} channels; the network has {channels:,}")
    done = run_reference(spec, network, weights, *dense_to_sparse(inputs.astype(np.float32)))
    # NIR has the channels of planes first.
    ours = [
        _in_steps(np.moveaxis(layer.spikes, -1, 2), "a convolution") for layer in done.convolutions
    ]
    for layer in done.network.layers[: len(emitting) - len(ours)]:
        counts = layer.spike_counts[..., 0]
        ours.append(sparse_to_dense(layer.spike_ids, counts, layer.u.shape[2]))
    return [
        _difference(name, values[..., :neurons], _in_steps(recorded[name], name))
        for (name, neurons), values in zip(emitting, ours)
        if name in recorded
    ]


def _in_steps(values: np.ndarray, name: str) -> np.ndarray:
    """Return spikes as `[time, samples, neurons]`."""
    if values.ndim < 3 or values.size > MAX_VALUES or values.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers [time, samples, neurons]; got {values.shape}")
    return values.reshape(*values.shape[:2], -1)


def _difference(name: str, ours: np.ndarray, theirs: np.ndarray) -> Dict[str, Any]:
    if ours.shape != theirs.shape:
        raise ValueError(f"{name} is {theirs.shape}; the network has {ours.shape}")
    differs = ours != theirs
    first = [int(at) for at in np.argwhere(differs)[0]] if differs.any() else []
    return {
        "name": name,
        "spikes": int(np.count_nonzero(theirs)),
        "most": float(theirs.max()) if theirs.size else 0.0,
        "different": int(np.count_nonzero(differs)),
        "first": first,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
