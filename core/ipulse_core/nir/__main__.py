"""Imports a NIR file: `python -m ipulse_core.nir FILE`; writes one line of JSON.

The line has the network of a spec, or {"error": {"code", "message", "choices"}}, where
choices are pairs of options, of which the user must say one, and what they mean.

With --limited DESCRIPTOR the file may be from anybody: the process limits its memory, processor
time and files before it opens the file, and writes the weights to the descriptor.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any, BinaryIO, Dict, List, Optional

import numpy as np

from ipulse_core.errors import IPUlseError, MissingDependency, Unavailable
from ipulse_core.limits import MAX_SPEC_BYTES
from ipulse_core.nir.discretization import Options
from ipulse_core.nir.errors import NirAmbiguous, NirInvalid
from ipulse_core.nir.importer import ImportedNetwork, import_network
from ipulse_core.sandbox.limited_process import limit_process
from ipulse_core.spec.nir_writers import FLAGS, RESETS, SOLVERS, WRITERS

MAX_WEIGHTS_BYTES = 2**29  # of a file from anybody
MAX_MESSAGE = 1_000  # characters
_METADATA = ("logits", "steps")  # of the file, that are printed


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command and return 0."""
    parser = argparse.ArgumentParser(prog="python -m ipulse_core.nir", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--weights", type=Path, help="npz file to write")
    parser.add_argument("--limited", type=int, metavar="DESCRIPTOR")
    parser.add_argument(FLAGS["solver"], choices=SOLVERS)
    parser.add_argument(FLAGS["step_ms"], type=float)
    parser.add_argument(FLAGS["reset"], choices=RESETS)
    parser.add_argument(FLAGS["writer"], dest="writer", choices=tuple(WRITERS))
    options = parser.parse_args(arguments)
    if options.limited is not None:
        limit_process()
        most = MAX_WEIGHTS_BYTES + MAX_SPEC_BYTES  # the headers are small
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        result = _imported(options)
    except IPUlseError as error:
        choices = error.choices if isinstance(error, NirAmbiguous) else []
        result = _error(error.code, error.message, choices)
    except (OSError, MemoryError, RecursionError) as error:
        result = _error(NirInvalid.code, str(error) or "reading it takes too much memory")
    text = json.dumps(result, ensure_ascii=False)
    if options.limited is not None and len(text) > MAX_SPEC_BYTES:
        detail = f"its network makes a spec of more than {MAX_SPEC_BYTES:,} characters"
        text = json.dumps(_error(NirInvalid.code, detail))
    # Names of nodes may have bytes that are no UTF-8.
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    return 0


def _imported(options: argparse.Namespace) -> Dict[str, Any]:
    """Return what is printed of a network, whose weights are written."""
    _require_h5py()
    step_s = None if options.step_ms is None else options.step_ms / 1000
    found = import_network(
        options.file, Options(options.solver, step_s, options.reset, options.writer)
    )
    if options.weights is not None:
        with options.weights.open("wb") as file:
            _write(found, file)
    if options.limited is not None:
        _write_limited(found, options.limited)
    return {
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


def _write_limited(found: ImportedNetwork, descriptor: int) -> None:
    """Write the weights, unless there are too many.

    Raises:
        NirInvalid: there are.
        Unavailable: the disk is full, for example.
    """
    size = sum(array.nbytes for array in found.weights.values())
    if size > MAX_WEIGHTS_BYTES:
        raise NirInvalid(f"its weights have {size:,} bytes; at most {MAX_WEIGHTS_BYTES:,} are kept")
    try:
        with os.fdopen(descriptor, "wb") as file:
            _write(found, file)
    except OSError as error:
        raise Unavailable(f"the weights cannot be written: {error.strerror}") from error


def _write(found: ImportedNetwork, file: BinaryIO) -> None:
    arrays: Dict[str, Any] = {**found.weights}
    np.savez(file, **arrays)


def _error(code: str, message: str, choices: Any = ()) -> Dict[str, Any]:
    if len(message) > MAX_MESSAGE:
        message = f"{message[:MAX_MESSAGE]}…"
    return {"error": {"code": code, "message": message, "choices": list(choices)}}


def _require_h5py() -> None:
    try:
        import h5py  # noqa: F401  (only whether it loads)
    except ImportError as error:
        raise MissingDependency(
            f"NIR files are read with h5py, which is missing: {error}"
        ) from None


if __name__ == "__main__":
    sys.exit(main())
