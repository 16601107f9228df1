"""`python -m ipulse_worker.runner.crosscheck < spec.json`: JSON lines on standard output.

Each that has `doing` says what it is at; the last is what it found.
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
    """0; what is wrong is said as {"error": {"code", "message"}}."""
    parser = argparse.ArgumentParser(
        prog="python -m ipulse_worker.runner.crosscheck", description=__doc__
    )
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--tiles", type=int, default=TILES)
    parser.add_argument("--device", choices=("cpu", "emulator"))
    asked = parser.parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # read when TensorFlow is imported
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

    from ipulse.spec import parse_spec
    from ipulse_core import strict_json
    from ipulse_core.build_cache.toolchain import NativeError
    from ipulse_core.errors import IPUlseError

    try:
        spec = parse_spec(strict_json.loads(sys.stdin.buffer.read()))
        _tell("loading TensorFlow")
        found = compare(spec, asked.samples, asked.steps, asked.tiles, asked.device)
    except (IPUlseError, NativeError) as error:
        message = getattr(error, "message", str(error))
        found = {"error": {"code": error.code, "message": message}}
    _write(found)
    return 0


def compare(
    spec: Any, samples: int, steps: int, tiles: int, device: Optional[str]
) -> Dict[str, Any]:
    """The document that docs/explanation/devices.md describes."""
    from ipulse_ops.lif.reference import network_pass as reference
    from ipulse_worker.runner.crosscheck.backends import WAYS
    from ipulse_worker.runner.crosscheck.comparison import GRADIENT, MEMBRANE, NEAR
    from ipulse_worker.runner.crosscheck.problem import problem_of
    from ipulse_worker.runner.data.directory import DataDirectory
    from ipulse_worker.runner.data.load import load
    from ipulse_worker.runner.devices.cpu import configure_tensorflow, usable_cores

    configure_tensorflow(usable_cores(), spec.seed)
    _tell("making spikes of the data")
    directory = DataDirectory.from_environment(os.environ)
    dataset = load(spec.data, directory, lambda done, all_of_them: None)
    problem = problem_of(spec, dataset, samples, steps)
    p = problem
    _tell("running the reference")
    free = reference.forward(p.network, p.weights, p.ids, p.counts, seed=p.seed)
    rows = [_row(way, problem, free, tiles) for way in WAYS if device in (None, way.device)]
    run = [row for row in rows if "skipped" not in row]
    return {
        "name": spec.name,
        "network": list(problem.network.sizes),
        "samples": p.counts.shape[1],
        "steps": p.counts.shape[0],
        "tiles": tiles,
        "spikes": [int(layer.spike_counts[..., 0].sum()) for layer in free.layers],
        "tolerances": {"margin": NEAR, "membrane": MEMBRANE, "gradient": GRADIENT},
        "ways": rows,
        "agree": bool(run) and all(row["agrees"] for row in run),
    }


def _row(way: Any, problem: Any, free: Any, tiles: int) -> Dict[str, Any]:
    from ipulse_ops.lif.poplar.attributes import UnsupportedNetwork
    from ipulse_worker.runner.crosscheck.comparison import judge
    from poplar_emulator.custom_op import CustomOpError

    row: Dict[str, Any] = {"way": way.name, "device": way.device}
    _tell(f"running the {way.name} on {way.device}")
    began = time.monotonic()
    try:
        result = way.run(problem, tiles)
    except UnsupportedNetwork as error:
        return {**row, "skipped": str(error)}
    except CustomOpError as error:
        return {**row, "agrees": False, "failed": str(error)}
    seconds = time.monotonic() - began
    _tell(f"judging the {way.name} on {way.device}")
    return {**row, **judge(problem, free, result).to_json(), "seconds": seconds}


def _tell(doing: str) -> None:
    """A large network takes minutes."""
    _write({"doing": doing})


def _write(line: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
