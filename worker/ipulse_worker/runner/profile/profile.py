"""profile.json: the time, activity and memory of an attempt.

The schema is docs/reference/profile.md.

Names in camelCase are those that Graphcore's libpva uses for the same value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional

import numpy as np

from ipulse_core.registry.quantities import with_todays_names
from ipulse_core.spec.derived_values import input_channels
from ipulse_core.spec.layer_names import shown_names
from ipulse_worker.runner.clock import Span, Timeline
from ipulse_worker.runner.devices.description import DeviceDescription
from ipulse_worker.runner.model.arrays_in_use import stored_bytes
from ipulse_worker.runner.model.weight_names import spiking_names
from ipulse_worker.runner.profile.layer_times import layer_times
from ipulse_worker.runner.profile.memory import memory
from ipulse_worker.runner.profile.step_cycles import step_cycles_document
from ipulse_worker.runner.runner_start import TENSORFLOW_IMPORT
from ipulse_worker.runner.training.evaluation import Evaluation
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.training.synaptic_operations import operations

SCHEMA = "ipulse.profile/1"

# The state of an optimizer, by the name of its slot variables.
KINDS = {"means": "mean of gradients", "squares": "mean of squares", "momenta": "momentum"}

PHASES = {
    "prepare": "start of the runner, conversion of the data set to spikes",
    "compile": "kernels, network, graphs, initial weights",
    "acquire": "waiting for the device",
    "run": "training and testing",
    "report": "writing results, until the profile was written",
}


@dataclass(frozen=True)
class RunMetadata:
    """The job, attempt, device and software that the values of a profile belong to."""

    job_id: str
    attempt: int
    started_at: str  # RFC 3339, UTC
    spec_sha256: str
    import_seconds: float  # of the imports, before the assignment arrived
    device: DeviceDescription
    host: Dict[str, Any]  # as provenance.host
    versions: Dict[str, str]  # as provenance.versions
    platforms: List[Dict[str, Any]]  # as PlatformHistory.to_json
    start: Optional[Dict[str, Any]] = None  # as StartWeights.to_json; None for drawn weights


def profile(
    training: Training,
    evaluation: Evaluation,
    run_metadata: RunMetadata,
    poplar_profile: Optional[Dict[str, Any]] = None,
) -> Dict[str, Any]:
    """Return the document.

    Args:
        training: the finished training.
        evaluation: its result on the test samples.
        run_metadata: what the values belong to.
        poplar_profile: of the Poplar program, if there is one.
    """
    spec, timeline = training.spec, training.timeline
    phases = timeline.of("phase")
    # The report phase is still open.
    phases.append(Span("phase", "report", phases[-1].end, timeline.clock.now()))
    return {
        "schema": SCHEMA,
        "experiment": {
            "name": spec.name,
            "seed": spec.seed,
            "spec_sha256": run_metadata.spec_sha256,
        },
        "attempt": {
            "job_id": run_metadata.job_id,
            "number": run_metadata.attempt,
            "started_at": run_metadata.started_at,
            "resumed_from_step": training.resumed_from,
            "import_seconds": run_metadata.import_seconds,
            "platforms": run_metadata.platforms,
        },
        "versions": run_metadata.versions,
        "compilation": {
            "target": run_metadata.device.target,
            "kernel": run_metadata.device.kernel,
            "alwaysLiveVariables": _variables(training),
        },
        "execution": {
            "phases": [_phase(span, timeline) for span in phases],
            "runs": [_run(training)],
            "step_cycles": step_cycles_document(training, evaluation, poplar_profile),
        },
        "activity": _activity(training, evaluation),
        "operations": _operations(training, evaluation),
        "memory": memory(training, evaluation.metrics.active_gradient_fractions),
    }


def dropped_in_training(training: Training) -> np.ndarray:
    """Return the dropped spikes of all attempts together, float64 `[spiking layers]`."""
    names = spiking_names(training.spec)
    epochs = [training.history.epochs(f"overflow/{name}") for name in names]
    return np.array([sum(epoch) for epoch in epochs])


def _phase(span: Span, timeline: Timeline) -> Dict[str, Any]:
    phase = {
        "name": span.name,
        "what": PHASES[span.name],
        "microseconds": {"start": span.start * 1e6, "end": span.end * 1e6},
        "seconds": span.seconds,
    }
    if span.name == "prepare":
        phase["parts"] = _parts_of_prepare(span, timeline)
    return phase


def _parts_of_prepare(span: Span, timeline: Timeline) -> List[Dict[str, Any]]:
    imported = timeline.seconds("start")
    waited = timeline.assigned_at - imported
    data = span.seconds - timeline.assigned_at
    return [
        {"name": "runner start", "what": "process, other imports, checkpoint", "seconds": waited},
        {"name": TENSORFLOW_IMPORT, "what": "none if the runner was warm", "seconds": imported},
        {"name": "data set", "what": "reading, conversion to spikes", "seconds": data},
    ]


def _run(training: Training) -> Dict[str, Any]:
    """Return the run phase: its steps, and the work between them."""
    timeline, times = training.timeline, training.times
    run = next(span for span in timeline.of("phase") if span.name == "run")
    parts = {
        "training steps": ("forward, backward, optimizer, host", times.seconds),
        "evaluation": ("on the test samples after every epoch", timeline.seconds("evaluation")),
        "checkpoints": ("writing to the disk", timeline.seconds("checkpoint")),
    }
    rest = run.seconds - sum(seconds for _, seconds in parts.values())
    parts["other"] = ("between steps: epoch metrics, events, clean-up", rest)
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
        "layers": layer_times(training),
    }


def _variables(training: Training) -> List[Dict[str, Any]]:
    """Return the variables that live from the first step to the last, in libpva's format."""
    arrays = training.model.arrays
    kinds = ["weights", *(KINDS[name] for name in training.model.optimizer.slots)]
    return [
        {"name": f"{kind}/{name}", "size": array.nbytes}
        for kind in kinds
        for name, array in arrays.items()
    ]


def _operations(training: Training, evaluation: Evaluation) -> Dict[str, Any]:
    spec, arrays = training.spec, training.model.arrays
    samples = max(evaluation.metrics.sums[0], 1)
    return operations(
        spec,
        evaluation.operations,
        arrays,
        stored_bytes(spec, arrays),
        float(evaluation.spikes_by_step.sum()),
        evaluation.seconds / samples,
    )


def _activity(training: Training, evaluation: Evaluation) -> Dict[str, Any]:
    spec, metrics = training.spec, evaluation.metrics
    dropped, shown = dropped_in_training(training), shown_names(spec.network)
    return {
        "measured_on": "test samples, by the final weights",
        "samples": int(metrics.sums[0]),
        "input": {
            "channels": input_channels(spec.data),
            "spikes_per_sample": float(evaluation.input_spikes_by_step.sum()),
            "spikes_by_step": evaluation.input_spikes_by_step.tolist(),
            "events": training.dataset.events.to_json(),
        },
        "layers": [
            with_todays_names(
                {
                    "layer": name if name == "readout" else int(name),
                    "name": shown[name],
                    "neurons": neurons,
                    "capacity": capacity,
                    "firing_rate": float(metrics.firing_rates[at]),
                    "gradient_share": float(metrics.active_gradient_fractions[at]),
                    "spikes_per_sample": float(evaluation.spikes_by_step[at].sum()),
                    "spikes_by_step": evaluation.spikes_by_step[at].tolist(),
                    "overflow": {
                        "training": float(dropped[at]),
                        "held_out": float(metrics.dropped[at]),
                    },
                    "overflow_by_step": evaluation.dropped_by_step[at].tolist(),
                }
            )
            for at, (name, neurons, capacity) in enumerate(
                zip(metrics.names, metrics.neurons, training.model.limits.capacities)
            )
        ],
    }
