"""The top of the report: the network, the main results and warnings."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from ipulse_core.numbers import plain_number
from ipulse_core.spec.derived_values import has_own_loss, loss_name, score_name
from ipulse_worker.runner.report.quantities import percent
from ipulse_worker.runner.results.results import Results
from ipulse_worker.runner.training.platforms import PlatformHistory
from ipulse_worker.runner.training.progress import held_out_samples

DATA_NAMES = {
    "delayed_recall": "two cues with a pause between them",
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
    spec, profile = results.spec, results.profile
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
        "scores": scores(results),
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


def scores(results: Results) -> List[Tuple[str, str, str]]:
    """Return the main figures: titles, values and notes."""
    metrics, score = results.evaluation.metrics, score_name(results.spec.training)
    split, samples = held_out_samples(results.spec).capitalize(), int(metrics.sums[0])
    if score == "accuracy":
        note = f"{int(metrics.sums[2]):,} of {samples:,} test samples, {_epochs(results)}"
        found = [(f"{split} accuracy", percent(metrics.score), note)]
    else:
        note = f"{samples:,} test samples, {_epochs(results)}"
        found = [
            (f"{split} mean absolute error", plain_number(metrics.score), note),
            (f"{split} {_loss_title(results)}", plain_number(metrics.loss), "the loss"),
        ]
    if results.spec.data.validation:
        value = results.history.epochs(f"validation_{score}")[results.kept_epoch - 1]
        is_accuracy = score == "accuracy"
        title = "Validation accuracy" if is_accuracy else "Validation mean absolute error"
        shown = percent(value) if is_accuracy else plain_number(value)
        found.append((title, shown, "samples out of the training part, to choose with"))
    return found


def _loss_title(results: Results) -> str:
    training = results.spec.training
    return loss_name(training) if has_own_loss(training) else "mean squared error"


def _epochs(results: Results) -> str:
    """Return the length of the training, and the epoch of the kept weights."""
    done = len(results.history.epochs("loss"))
    text = "1 epoch" if done == 1 else f"{done} epochs"
    if done < results.spec.training.epochs:
        text += f" of {results.spec.training.epochs} (stopped early)"
    if results.kept_epoch != done:
        text += f", weights of epoch {results.kept_epoch}"
    return text
