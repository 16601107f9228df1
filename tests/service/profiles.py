"""Profiles of jobs, put together by hand, and agents that leave them."""

from __future__ import annotations

import json
from typing import Any

from tests.service.agents import PHASES, phase
from tests.service.running import SPEC, InProcess
from tests.worker.runner.report.tile_documents import document


def profile(run: float = 2.0, forward: float = 0.004, **more: Any) -> dict[str, Any]:
    """A profile.json of a job on a CPU, with one layer and a readout."""
    parts = [("forward", forward), ("backward", 0.006), ("residual", None)]
    steps = {
        "count": 10,
        "seconds": {"mean": forward + 0.006},
        "parts": [
            {
                "name": name,
                "seconds": {"total": 10 * (mean or 0), **({"mean": mean} if mean else {})},
            }
            for name, mean in parts
        ],
    }
    layers = [
        {"layer": 1, "forward": 0.75 * forward, "backward": 0.004},
        {"layer": "readout", "forward": 0.25 * forward, "backward": 0.002},
    ]
    return {
        "versions": {"ipulse": "1"},
        "compilation": {"target": {"type": "Cpu", "threads": 2}, "kernel": {"kernel": "avx2"}},
        "execution": {
            "phases": [{"name": "prepare", "seconds": 1.0}, {"name": "run", "seconds": run}],
            "runs": [
                {"samples_per_second": 64 / forward, "layers": {"layers": layers}, "steps": steps}
            ],
        },
        "activity": {"layers": []},
        "memory": {"peakRss": {"bytes": 4096, "how": "measured"}},
        **more,
    }


def tiles(**more: Any) -> dict[str, Any]:
    """A poplar_profile.json, see `document`."""
    made = document(**more)
    made["compilation"]["graph"] = {}
    layer = {"ipus": [0], "tiles": 3, "neurons": 12, "most_neurons": 4, "work": 20.0}
    readout = {"ipus": [0], "tiles": 1, "neurons": 2, "most_neurons": 2, "work": 10.0}
    made["compilation"]["tileMapping"] = {
        "mapping": "capacity",
        "split": "layers",
        "tiles_used": 4,
        "load_balance": 0.875,
        "layers": [{**layer, "weights_per_neuron": 64}, {**readout, "weights_per_neuron": 12}],
    }
    return made


def profiled_job(
    service: InProcess, *documents: dict[str, Any] | bytes | None, name: str, trace: bytes = b""
) -> str:
    """Run a job that leaves these as its profile.json and poplar_profile.json; return its id."""
    job_id: str = service.submit({**SPEC, "name": name})["id"]
    attempt = service.attempt(job_id)
    attempt.report(*map(phase, PHASES))
    for role, given in zip(("profile", "poplar_profile"), documents, strict=False):
        if given is not None:
            content = given if isinstance(given, bytes) else json.dumps(given).encode()
            assert attempt.put(f"{role}.json", role, content).status_code == 201
    if trace:
        assert attempt.put("trace.json.gz", "trace", trace).status_code == 201
    attempt.put("manifest.json", "manifest")
    assert attempt.finish("completed").status_code == 200
    return job_id
