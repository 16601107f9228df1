"""The top of the report: the network, the main results and warnings."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ipulse_core.numbers import plain_number
from ipulse_worker.runner.results.results import Results
from ipulse_worker.runner.training.platforms import PlatformHistory

DATA_NAMES = {
    "digits": "scanned digits",
    "dvs_gesture": "gestures before an event camera",
    "frozen_noise": "frozen noise",
    "n_mnist": "digits before a moving event camera",
    "npz": "recorded spikes",
    "events": "recorded events",
    "poisson": "Poisson rate patterns",
    "randman": "smooth random manifolds",
    "shd": "spoken digits through an artificial cochlea",
    "ssc": "spoken commands through an artificial cochlea",
    "yin_yang": "points of a yin-yang sign",
}


def headline(results: Results) -> Dict[str, Any]:
    """Return the values of sections/headline.html."""
    spec, metrics, profile = results.spec, results.evaluation.metrics, results.profile
    hidden = len(spec.network.layers)
    train = profile["execution"]["runs"][0]
    target = profile["compilation"]["target"]
    return {
        "name": spec.name,
        "hidden": {1: "One", 2: "Two", 3: "Three", 4: "Four"}.get(hidden, str(hidden)),
        "has_one_layer": hidden == 1,
        "readout": spec.network.readout.kind,
        "shape": " → ".join(f"{neurons:,}" for neurons in results.sizes),
        "data": DATA_NAMES[spec.data.kind],
        "steps": spec.data.steps,
        "step_ms": plain_number(spec.data.step_ms),
        "started_at": results.started_at[:16].replace("T", " "),
        "accuracy": metrics.accuracy,
        "validation_accuracy": _validation_accuracy(results),
        "correct": int(metrics.sums[2]),
        "held_out": int(metrics.sums[0]),
        "epochs": _epochs(results),
        "run_seconds": train["seconds"],
        "samples_per_second": train["samples_per_second"],
        "is_emulated": target.get("emulated", False),
        "spikes": results.evaluation.spikes_by_step.sum(),
        "seed": spec.seed,
        "threads": target["threads"],
        "kernel": profile["compilation"]["kernel"]["kernel"],
        "events": results.events,
        "data_warnings": results.data_warnings,
        "other_platforms": PlatformHistory(profile["attempt"]["platforms"]).others(),
    }


def _validation_accuracy(results: Results) -> Optional[float]:
    """Return the accuracy of the kept epoch on the validation samples, if there are any."""
    if not results.spec.data.validation:
        return None
    return results.history.epochs("validation_accuracy")[results.kept_epoch - 1]


def _epochs(results: Results) -> str:
    """Return the length of the training, and the epoch of the kept weights."""
    done = len(results.history.epochs("loss"))
    text = "1 epoch" if done == 1 else f"{done} epochs"
    if done < results.spec.training.epochs:
        text += f" of {results.spec.training.epochs} (stopped early)"
    if results.kept_epoch != done:
        text += f", weights of epoch {results.kept_epoch}"
    return text
