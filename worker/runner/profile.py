"""profile.json: where an attempt's time, spikes and memory went. The schema is docs/profile.md.

Names in camelCase are those that Graphcore's libpva uses for the same thing.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence

import numpy as np

from ipulse.spec import ExperimentSpec

from .clock import Span
from .results import Judgement
from .training import Training

SCHEMA = "ipulse.profile/1"

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
    threads: int  # that the kernels use
    kernel: Dict[str, str]  # as the kernels describe themselves
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
            "target": {
                "type": "Cpu",
                "model": circumstances.host["cpu"],
                "cores": circumstances.host["cores"],
                "threads": circumstances.threads,
                "totalMemory": circumstances.host["memory_bytes"],
            },
            "kernel": circumstances.kernel,
            "alwaysLiveVariables": _variables(training),
        },
        "execution": {
            "phases": [_phase(span) for span in [*timeline.of("phase"), reported]],
            "runs": [_run(training)],
        },
        "activity": _activity(training, judgement),
        "memory": _memory(training, judgement),
    }


def dropped_in_training(training: Training) -> np.ndarray:
    """Spikes without a slot of every hidden layer, float64 `[layers]`, all attempts together."""
    numbers = range(1, len(training.spec.network.layers) + 1)
    epochs = [training.history.epochs(f"overflow/{number}") for number in numbers]
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
    names = layer_names(len(training.spec.network.layers))
    return [
        {"name": f"{kind}/{name}", "size": weights.nbytes}
        for kind in ("weights", "mean of gradients", "mean of squares")
        for name, weights in zip(names, training.model.weights)
    ]


def layer_names(hidden: int) -> Sequence[str]:
    """layer_1, layer_2, ..., readout: of weights, wherever they have names."""
    return [*(f"layer_{number}" for number in range(1, hidden + 1)), "readout"]


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
        },
        "layers": [
            {
                "layer": at + 1,
                "neurons": layer.neurons,
                "capacity": layer.capacity,
                "firing_rate": float(tally.firing_rates[at]),
                "gradient_share": float(tally.gradient_shares[at]),
                "spikes_per_sample": float(judgement.spikes_by_step[at].sum()),
                "spikes_by_step": judgement.spikes_by_step[at].tolist(),
                "overflow": {"training": float(dropped[at]), "held_out": float(tally.dropped[at])},
            }
            for at, layer in enumerate(spec.network.layers)
        ],
    }


def _memory(training: Training, judgement: Judgement) -> Dict[str, Any]:
    weights = sum(matrix.nbytes for matrix in training.model.weights)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
    return {
        "peakRss": {"bytes": peak, "how": "measured: the whole process, TensorFlow included"},
        "weights": {"bytes": weights, "how": "measured: the arrays"},
        "optimizer": {"bytes": 2 * weights, "how": "computed: two moments of every weight"},
        "savedForBackward": {
            "bytes": saved_for_backward(training.spec, judgement.tally.gradient_shares),
            "how": "computed: of a full batch, a float32 for every neuron and step in the gradient "
            "set at its share on the held-out samples, and the kernel's sets of bits",
        },
    }


def saved_for_backward(spec: ExperimentSpec, gradient_shares: np.ndarray) -> int:
    """Bytes that the forward kernel keeps for the backward kernel, of one full batch.

    Of each layer: the membranes of the gradient set, and one bit per neuron and step for who is
    above the threshold, for who carries gradient unless all do, and for who was emitted unless
    every neuron has a slot.
    """
    sites = spec.data.steps * spec.training.batch_size
    total = 0.0
    for layer, share in zip(spec.network.layers, gradient_shares.tolist()):
        truncated = layer.capacity is not None and layer.capacity < layer.neurons
        sets = 1 + (truncated or layer.second_threshold is not None) + truncated
        total += sites * layer.neurons * (4 * share + sets / 8)
    return round(total)
