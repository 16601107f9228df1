"""profile.json: where an attempt's time, spikes and memory went. The schema is
docs/reference/profile.md.

Names in camelCase are those that Graphcore's libpva uses for the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List

import numpy as np

from ipulse_worker.runner.clock import Span
from ipulse_worker.runner.devices import Description
from ipulse_worker.runner.model.network import spiking_names
from ipulse_worker.runner.profile.memory import memory
from ipulse_worker.runner.results.results import Judgement
from ipulse_worker.runner.training.loop import Training

SCHEMA = "ipulse.profile/1"

# What an optimizer keeps, by the name of its slot.
KINDS = {"means": "mean of gradients", "squares": "mean of squares", "momenta": "momentum"}

PHASES = {
    "prepare": "data set to spikes",
    "compile": "kernels, network, graphs, initial weights",
    "acquire": "waiting for the device",
    "run": "training and testing",
    "report": "writing results, until the profile was written",
}


@dataclass(frozen=True)
class Circumstances:
    """What the figures of a profile depend on."""

    job_id: str
    attempt: int
    started_at: str  # RFC 3339, UTC
    spec_sha256: str
    import_seconds: float  # before the assignment came
    device: Description
    host: Dict[str, Any]  # as provenance.host
    versions: Dict[str, str]  # as provenance.versions


def profile(
    training: Training,
    judgement: Judgement,
    circumstances: Circumstances,
    report_began: float,
) -> Dict[str, Any]:
    """The document. `report_began`: on the timeline's clock; that phase has not ended yet."""
    spec, timeline = training.spec, training.timeline
    reported = Span("phase", "report", report_began, timeline.clock.now())
    return {
        "schema": SCHEMA,
        "experiment": {
            "name": spec.name,
            "seed": spec.seed,
            "spec_sha256": circumstances.spec_sha256,
        },
        "attempt": {
            "job_id": circumstances.job_id,
            "number": circumstances.attempt,
            "started_at": circumstances.started_at,
            "resumed_from_step": training.resumed_from,
            "import_seconds": circumstances.import_seconds,
        },
        "versions": circumstances.versions,
        "compilation": {
            "target": circumstances.device.target,
            "kernel": circumstances.device.kernel,
            "alwaysLiveVariables": _variables(training),
        },
        "execution": {
            "phases": [_phase(span) for span in [*timeline.of("phase"), reported]],
            "runs": [_run(training)],
        },
        "activity": _activity(training, judgement),
        "memory": memory(training, judgement.tally.gradient_shares),
    }


def dropped_in_training(training: Training) -> np.ndarray:
    """Spikes without a slot, all attempts together, float64 `[spiking layers]`."""
    names = spiking_names(training.spec)
    epochs = [training.history.epochs(f"overflow/{name}") for name in names]
    return np.array([sum(epoch) for epoch in epochs])


def _phase(span: Span) -> Dict[str, Any]:
    return {
        "name": span.name,
        "what": PHASES[span.name],
        "microseconds": {"start": span.start * 1e6, "end": span.end * 1e6},
        "seconds": span.seconds,
    }


def _run(training: Training) -> Dict[str, Any]:
    """The run phase: its steps, and what happened between them."""
    timeline, times = training.timeline, training.times
    run = next(span for span in timeline.of("phase") if span.name == "run")
    parts = {
        "training steps": ("forward, backward, optimizer, host", times.seconds),
        "evaluation": ("held-out samples after every epoch", timeline.seconds("evaluation")),
        "checkpoints": ("written to the disk", timeline.seconds("checkpoint")),
    }
    rest = run.seconds - sum(seconds for _, seconds in parts.values())
    parts["other"] = ("between steps: epoch figures, events, clean-up", rest)
    done = training.step - training.resumed_from
    return {
        "name": "train",
        "microseconds": {"start": run.start * 1e6, "end": run.end * 1e6},
        "seconds": run.seconds,
        "samples": training.samples,
        "samples_per_second": training.samples / times.seconds if done else None,
        "parts": [
            {"name": name, "what": what, "seconds": seconds}
            for name, (what, seconds) in parts.items()
        ],
        "steps": times.to_json(),
    }


def _variables(training: Training) -> List[Dict[str, Any]]:
    """What lives from the first step to the last, as libpva lists always-live variables."""
    arrays = training.model.arrays
    kinds = ["weights", *(KINDS[name] for name in training.model.optimizer.slots)]
    return [
        {"name": f"{kind}/{name}", "size": array.nbytes}
        for kind in kinds
        for name, array in arrays.items()
    ]


def _activity(training: Training, judgement: Judgement) -> Dict[str, Any]:
    spec, tally = training.spec, judgement.tally
    dropped = dropped_in_training(training)
    return {
        "measured_on": "held-out samples, by the final weights",
        "samples": int(tally.sums[0]),
        "input": {
            "channels": spec.data.inputs,
            "spikes_per_sample": float(judgement.input_spikes_by_step.sum()),
            "spikes_by_step": judgement.input_spikes_by_step.tolist(),
            "events": training.dataset.events.to_json(),
        },
        "layers": [
            {
                "layer": name if name == "readout" else int(name),
                "neurons": neurons,
                "capacity": capacity,
                "firing_rate": float(tally.firing_rates[at]),
                "gradient_share": float(tally.gradient_shares[at]),
                "spikes_per_sample": float(judgement.spikes_by_step[at].sum()),
                "spikes_by_step": judgement.spikes_by_step[at].tolist(),
                "overflow": {"training": float(dropped[at]), "held_out": float(tally.dropped[at])},
                "overflow_by_step": judgement.dropped_by_step[at].tolist(),
            }
            for at, (name, neurons, capacity) in enumerate(
                zip(tally.names, tally.neurons, training.model.gates.capacities)
            )
        ],
    }
