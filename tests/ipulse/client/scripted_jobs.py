"""Jobs of the real service that a scripted agent runs."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from ipulse import LIF, Experiment
from ipulse.client import JobHandle
from ipulse_core.manifest import ListedFile, manifest_json
from tests.ipulse.live_service import Agent, Attempt

# Reported by the scripted agent for every epoch: loss, test accuracy.
EPOCHS = [(2.0, 0.5), (1.0, 0.9), (0.5, 0.75)]
SIZES = (64, 6, 10)  # channels, neurons, classes of the digits

Ended = Callable[..., JobHandle]


def experiment(**fields: Any) -> Experiment:
    return Experiment(**{"name": "small", "layers": [LIF(SIZES[1])], "epochs": 3, **fields})


def weights() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(7)
    return {
        "layer_1": draw.normal(size=SIZES[:2]).astype(np.float32),
        "readout": draw.normal(size=SIZES[1:]).astype(np.float32),
    }


def profile() -> dict[str, Any]:
    layer = {
        "layer": 1,
        "neurons": SIZES[1],
        "capacity": None,
        "firing_rate": 0.1,
        "gradient_share": 1.0,
        "spikes_per_sample": 4.0,
        "overflow": {"training": 0, "held_out": 0},
    }
    return {
        "schema": "ipulse.profile/1",
        "attempt": {"job_id": "job", "number": 1},
        "execution": {"phases": [{"name": "run", "seconds": 1.5}], "runs": []},
        "activity": {"layers": [layer]},
        "memory": {"weights": {"bytes": 100, "how": "computed"}},
    }


def spikes() -> dict[str, Any]:
    """Spikes of two samples, as the job stores them."""
    sample = {"label": 3, "predicted": 5, "readout_membrane": []}
    layers = [{"steps": [0, 1], "neurons": [4, 5]}, {"steps": [2], "neurons": [1]}]
    samples = [{**sample, "sample": number, "spikes": layers} for number in (11, 12)]
    return {"schema": "ipulse.spikes/1", "steps": 40, "samples": samples}


def tiles() -> dict[str, Any]:
    """The profile of a Poplar program that was compiled for one tile."""
    total = {"includingGaps": 120, "excludingGaps": 120}
    compilation = {"target": {"numTiles": 1}, "graph": {}, "programs": [], "computeSets": []}
    return {"compilation": {**compilation, "tiles": [{"memory": {"total": total}}]}}


def files() -> dict[str, bytes]:
    """The files of the scripted job."""
    stored = io.BytesIO()
    np.savez(stored, **weights())  # type: ignore[arg-type]
    contents = {
        "report.html": b"<h1>report</h1>",
        "weights.npz": stored.getvalue(),
        "profile.json": json.dumps(profile()).encode(),
        "spikes.json": json.dumps(spikes()).encode(),
        "poplar_profile.json": json.dumps(tiles()).encode(),
    }
    listed = [
        ListedFile(
            name=name,
            role=name.partition(".")[0],  # type: ignore[arg-type]
            media_type="application/octet-stream",
            sha256=hashlib.sha256(content).hexdigest(),
            size=len(content),
        )
        for name, content in contents.items()
    ]
    return {**contents, "manifest.json": json.dumps(manifest_json(listed)).encode()}


def run_job(agent: Agent, job_id: str, fails: bool = False, accuracy: float = 0.9) -> None:
    """Plays the agent of a job from its claim to its end, with this final accuracy."""
    play(agent.claim(job_id), fails, accuracy)


def play(attempt: Attempt, fails: bool = False, accuracy: float = 0.9) -> None:
    """Plays an attempt that was claimed."""
    for phase in ("prepare", "compile", "acquire", "run"):
        attempt.report({"kind": "phase", "phase": phase})
    attempt.report({"kind": "log", "message": "begins"})
    attempt.report({"kind": "log", "message": "is odd", "level": "warning"})
    for epoch, (loss, shown) in enumerate(EPOCHS, 1):
        at = {"kind": "metric", "epoch": epoch, "epochs": 3, "steps": 30}
        for step in (epoch * 10 - 5, epoch * 10):
            values = {"loss": loss + 1 / step, "accuracy": shown}
            attempt.report({**at, "step": step, "values": values, "scope": "step"})
        values = {"loss": loss, "test_loss": loss, "test_accuracy": shown}
        attempt.report({**at, "step": epoch * 10, "values": values, "scope": "epoch"})
    if fails:
        attempt.report({"kind": "log", "message": "nothing is left", "level": "error"})
        attempt.finish("out_of_memory", "the memory is full")
        return
    attempt.report({"kind": "phase", "phase": "report"})
    for name, content in files().items():
        attempt.store(name, name.partition(".")[0], content)
    attempt.store("checkpoint.npz", "checkpoint", b"state")  # no part of the result
    attempt.finish(test_accuracy=accuracy)
