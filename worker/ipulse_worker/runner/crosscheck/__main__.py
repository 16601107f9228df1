"""Run one network on several back ends: reads spec.json, writes JSON lines to standard output.

Lines with `doing` report progress; the last line is the result.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any, Dict, List, Optional

SAMPLES, STEPS, TILES = 4, 16, 64


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command and return 0; errors are written as {"error": {"code", "message"}}."""
    parser = argparse.ArgumentParser(
        prog="python -m ipulse_worker.runner.crosscheck", description=__doc__
    )
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--tiles", type=int, default=TILES)
    parser.add_argument("--device", choices=("cpu", "emulator"))
    options = parser.parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # read when TensorFlow is imported
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

    from ipulse_core import strict_json
    from ipulse_core.build_cache.toolchain import NativeError
    from ipulse_core.errors import IPUlseError
    from ipulse_core.spec.resolved_spec import read_spec

    try:
        spec = read_spec(strict_json.loads(sys.stdin.buffer.read()))
        _report("loading TensorFlow")
        result = crosscheck(spec, options.samples, options.steps, options.tiles, options.device)
    except (IPUlseError, NativeError) as error:
        message = getattr(error, "message", str(error))
        result = {"error": {"code": error.code, "message": message}}
    _write(result)
    return 0


def crosscheck(
    spec: Any, samples: int, steps: int, tiles: int, device: Optional[str]
) -> Dict[str, Any]:
    """Compare the back ends and return the document that docs/explanation/devices.md describes."""
    from ipulse_core.data_files.directory import DataDirectory
    from ipulse_ops.lif.reference import network_pass as reference
    from ipulse_worker.runner.crosscheck.backends import BACKENDS
    from ipulse_worker.runner.crosscheck.comparison import (
        GRADIENT_TOLERANCE,
        MARGIN_TOLERANCE,
        MEMBRANE_TOLERANCE,
    )
    from ipulse_worker.runner.crosscheck.problem import notes_of, problem_of
    from ipulse_worker.runner.data.load import load
    from ipulse_worker.runner.devices.processor import configure_tensorflow, usable_cores

    configure_tensorflow(usable_cores(), spec.seed)
    _report("converting the data to spikes")
    directory = DataDirectory.from_environment(os.environ)
    dataset = load(spec.data, directory, lambda done, total: None)
    problem = problem_of(spec, dataset, samples, steps, directory)
    p = problem
    _report("running the reference")
    reference_run = reference.forward(p.network, p.weights, p.ids, p.counts, seed=p.seed)
    backends = [backend for backend in BACKENDS if device in (None, backend.device)]
    rows = [_row(backend, problem, reference_run, tiles) for backend in backends]
    run = [row for row in rows if "skipped" not in row]
    return {
        "name": spec.name,
        "network": list(problem.network.sizes),
        "samples": p.counts.shape[1],
        "steps": p.counts.shape[0],
        "tiles": tiles,
        "spikes": [int(layer.spike_counts[..., 0].sum()) for layer in reference_run.layers],
        "tolerances": {
            "margin": MARGIN_TOLERANCE,
            "membrane": MEMBRANE_TOLERANCE,
            "gradient": GRADIENT_TOLERANCE,
        },
        "ways": rows,
        "notes": list(notes_of(spec)),
        "agree": bool(run) and all(row["agrees"] for row in run),
    }


def _row(backend: Any, problem: Any, reference_run: Any, tiles: int) -> Dict[str, Any]:
    from ipulse_ops.lif.unsupported import UnsupportedNetwork
    from ipulse_worker.runner.crosscheck.comparison import compare_with_reference
    from poplar_emulator.custom_op import CustomOpError

    row: Dict[str, Any] = {"way": backend.name, "device": backend.device}
    _report(f"running the {backend.name} on {backend.device}")
    began = time.monotonic()
    try:
        result = backend.run(problem, tiles)
    except UnsupportedNetwork as error:
        return {**row, "skipped": str(error)}
    except CustomOpError as error:
        return {**row, "agrees": False, "failed": str(error)}
    seconds = time.monotonic() - began
    _report(f"comparing the {backend.name} on {backend.device} with the reference")
    comparison = compare_with_reference(problem, reference_run, result)
    return {**row, **comparison.to_json(), "seconds": seconds}


def _report(doing: str) -> None:
    """Report progress: a large network takes minutes."""
    _write({"doing": doing})


def _write(line: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
