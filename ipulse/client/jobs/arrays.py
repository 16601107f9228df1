"""Results of a job as NumPy arrays, as a Keras layer and as a NIR graph."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ipulse.optional_modules import optional_module


def arrays_in(content: bytes) -> dict[str, Any]:
    """Return the arrays of an npz file without pickles, by name."""
    numpy = optional_module("numpy", "an array")
    with numpy.load(io.BytesIO(content), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def keras_network(
    spec: Mapping[str, Any],
    weights: Mapping[str, Any],
    capacities: Sequence[int | None],
    options: Mapping[str, Any],
) -> Any:
    """Return the network of a spec with these weights as ipulse_ops.keras.MultiLIF."""
    module = optional_module("ipulse_ops.keras.trained_network", "a network in Keras", "all")
    return module.trained_network(spec, weights, capacities, **options)


def nir_graph(content: bytes) -> Any:
    """Return the NIR graph in a file."""
    nir = optional_module("nir", "a NIR graph")
    with tempfile.TemporaryDirectory(prefix="ipulse-") as folder:
        path = Path(folder) / "network.nir"
        path.write_bytes(content)
        return nir.read(path)
