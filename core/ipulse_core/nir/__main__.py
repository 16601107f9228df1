"""Imports a NIR file: `python -m ipulse_core.nir FILE`; writes one line of JSON.

The line has the network of a spec, or {"error": {"code", "message", "choices"}}, where
choices are pairs of options, of which the user must say one, and what they mean.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

import numpy as np

from ipulse_core.errors import IPUlseError, MissingDependency
from ipulse_core.nir.discretization import Options
from ipulse_core.nir.errors import NirAmbiguous
from ipulse_core.nir.importer import import_network
from ipulse_core.spec.nir_writers import RESETS, SOLVERS, WRITERS

_METADATA = ("logits", "steps")  # of the file, that are printed


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command and return 0."""
    parser = argparse.ArgumentParser(prog="python -m ipulse_core.nir", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--weights", type=Path, help="npz file to write")
    parser.add_argument("--solver", choices=SOLVERS)
    parser.add_argument("--step-ms", type=float)
    parser.add_argument("--reset", choices=RESETS)
    parser.add_argument("--from", dest="writer", choices=tuple(WRITERS))
    options = parser.parse_args(arguments)
    step_s = None if options.step_ms is None else options.step_ms / 1000
    try:
        _require_h5py()
        found = import_network(
            options.file, Options(options.solver, step_s, options.reset, options.writer)
        )
        if options.weights is not None:
            arrays: Dict[str, Any] = {**found.weights}
            with options.weights.open("wb") as file:
                np.savez(file, **arrays)
        result = {
            "network": found.network,
            "arrays": {name: list(array.shape) for name, array in found.weights.items()},
            "nodes": found.nodes,
            "inputs": found.inputs,
            "input_shape": list(found.input_shape),
            "classes": found.classes,
            "step_ms": found.step_ms,
            "metadata": {key: found.metadata[key] for key in _METADATA if key in found.metadata},
            "notes": found.notes,
        }
    except IPUlseError as error:
        choices = error.choices if isinstance(error, NirAmbiguous) else []
        result = {"error": {"code": error.code, "message": error.message, "choices": choices}}
    except (OSError, MemoryError) as error:
        message = str(error) or "there is not enough memory for its weights"
        result = {"error": {"code": "nir_invalid", "message": message, "choices": []}}
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


def _require_h5py() -> None:
    try:
        import h5py  # noqa: F401  (only whether it loads)
    except ImportError as error:
        raise MissingDependency(
            f"NIR files are read with h5py, which is missing: {error}"
        ) from None


if __name__ == "__main__":
    sys.exit(main())
