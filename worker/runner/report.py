"""report.html: one self-contained page about a training, without scripts or requests.

Its text comes partly from a user (names, metadata), so whatever is put in is escaped here, and
the page forbids itself everything but its own style sheet.
"""

from __future__ import annotations

import json
import pkgutil
from html import escape
from string import Template
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ipulse.spec import spec_to_json

from . import plots
from .quantities import count, duration, listed, percent, size
from .raster_plot import raster_plot
from .results import Results
from .tables import definitions, meter, swatch, table, tiles

PHASE_COLOURS = {"prepare": 5, "compile": 2, "acquire": 4, "run": 1, "report": 0}
RUN_COLOURS = {"training steps": 1, "evaluation": 3, "checkpoints": 5, "other": 0}
STEP_COLOURS = {
    "forward": 1,
    "backward": 3,
    "framework": 4,
    "optimizer": 2,
    "data": 5,
    "metrics": 0,
    "residual": 6,
}


def report_html(results: Results) -> bytes:
    """The page, in UTF-8."""
    template = pkgutil.get_data(__package__, "report_template.html")
    if template is None:
        raise FileNotFoundError("report_template.html is missing beside report.py: reinstall")
    parts = {
        **_head(results),
        **_learning(results),
        **_sample(results),
        **_activity(results),
        **_confusion(results),
        **_time(results),
        **_network(results),
        **_origin(results),
    }
    return Template(template.decode("utf-8")).substitute(parts).encode("utf-8")


def _head(results: Results) -> Dict[str, str]:
    spec, tally, profile = results.spec, results.judgement.tally, results.profile
    hidden = len(spec.network.layers)
    number = {1: "One", 2: "Two", 3: "Three", 4: "Four"}.get(hidden, str(hidden))
    layers = f"{number} hidden LIF layer{'' if hidden == 1 else 's'}"
    shape = " → ".join(f"{neurons:,}" for neurons in results.sizes)
    held_out = int(tally.sums[0])
    train = profile["execution"]["runs"][0]
    speed = train["samples_per_second"]
    target = profile["compilation"]["target"]
    kernel = profile["compilation"]["kernel"]["kernel"]
    spikes = results.judgement.spikes_by_step.sum()
    return {
        "title": escape(f"{spec.name}: IPUlse training report"),
        "name": escape(spec.name),
        "lede": escape(
            f"{layers} and a leaky readout, {shape}, on scanned digits as spike latencies: "
            f"{spec.data.steps} steps of {spec.data.step_ms:g} ms. "
            f"Started {results.started_at[:16].replace('T', ' ')} UTC."
        ),
        "tiles": tiles(
            [
                (
                    "Test accuracy",
                    percent(tally.accuracy),
                    f"{int(tally.sums[2]):,} of {held_out:,} held-out samples, "
                    f"{spec.training.epochs} epochs",
                ),
                ("Run phase", duration(train["seconds"]), "training and testing"),
                (
                    "Speed",
                    f"{count(speed)}/s" if speed is not None else "none",
                    "samples in training steps",
                ),
                ("Hidden spikes", count(spikes), "of a held-out sample, mean"),
                ("Seed", str(spec.seed), f"{target['threads']} threads, {kernel}"),
            ]
        ),
        "warnings": _warnings(results),
    }


def _warnings(results: Results) -> str:
    found = []
    tested = results.judgement.tally.dropped
    for number, (trained, held_out) in enumerate(zip(results.dropped_in_training, tested), start=1):
        if trained or held_out:
            found.append(
                (
                    f"Layer {number} dropped spikes",
                    f"{count(trained)} in training and {count(held_out)} on the held-out samples "
                    "found no slot and went nowhere. Raise the layer's capacity, or leave it out "
                    "for one slot per neuron.",
                )
            )
    for number, rate in enumerate(results.judgement.tally.firing_rates, start=1):
        if rate == 0:
            found.append(
                (
                    f"Layer {number} is silent",
                    "No neuron of it spikes on the held-out samples, so nothing behind it learns. "
                    "Raise network.initial_membrane_std or lower the layer's threshold.",
                )
            )
    return "".join(
        f'<div class="warning" role="note"><b>{escape(title)}</b>{escape(text)}</div>'
        for title, text in found
    )


def _learning(results: Results) -> Dict[str, str]:
    history = results.history
    epochs = list(range(1, len(history.epochs("loss")) + 1))
    accuracy: List[plots.Series] = [
        ("held out", "test", [100 * share for share in history.epochs("test_accuracy")]),
        ("training", "train", [100 * share for share in history.epochs("accuracy")]),
    ]
    loss: List[plots.Series] = [
        ("held out", "test", history.epochs("test_loss")),
        ("training", "train", history.epochs("loss")),
    ]
    best = max(range(len(epochs)), key=lambda at: accuracy[0][2][at])
    return {
        "learning_words": escape(
            "Held-out figures are taken after each epoch, training figures are the mean over its "
            f"steps. The held-out accuracy was highest after epoch {epochs[best]} "
            f"({accuracy[0][2][best]:.1f} %); the network of the last epoch is what is kept and "
            "what this page reports."
        ),
        "accuracy_plot": plots.curves(
            accuracy,
            epochs,
            "epoch",
            "accuracy (%)",
            plots.percent_range(accuracy),
            f"Accuracy over {len(epochs)} epochs, ending at {accuracy[0][2][-1]:.1f} % held out",
            whole=True,
            show_last=".1f",
        ),
        "loss_plot": plots.curves(
            loss,
            epochs,
            "epoch",
            "cross-entropy (nats)",
            plots.zero_range(loss),
            f"Loss over {len(epochs)} epochs, ending at {loss[0][2][-1]:.3f} held out",
            whole=True,
            show_last=".3f",
        ),
    }


def _sample(results: Results) -> Dict[str, str]:
    raster = results.raster
    right = raster.label == raster.predicted
    verdict = (
        f'Predicted <i class="{"ok" if right else "bad"}">{raster.predicted}</i>, '
        f"which is {'right' if right else f'wrong: it is a {raster.label}'}"
    )
    picture = plots.picture(raster.image, f"The scanned digit, a {raster.label}")
    return {
        "sample": f'<div class="sample">{picture}<p class="verdict">{verdict}</p></div>',
        "raster_plot": raster_plot(raster, results.sizes, results.spec.data.step_ms),
    }


def _activity(results: Results) -> Dict[str, str]:
    history, judgement, spec = results.history, results.judgement, results.spec
    hidden = range(1, len(spec.network.layers) + 1)
    epochs = list(range(1, len(history.epochs("loss")) + 1))
    by_epoch: List[plots.Series] = [
        (f"layer {n}", _layer_class(n), [100 * r for r in history.epochs(f"firing_rate/{n}")])
        for n in hidden
    ]
    by_time: List[plots.Series] = [
        ("input", "s0", (100 * judgement.input_spikes_by_step / spec.data.inputs).tolist())
    ]
    for n in hidden:
        rate = 100 * judgement.spikes_by_step[n - 1] / spec.network.layers[n - 1].neurons
        by_time.append((f"layer {n}", _layer_class(n), rate.tolist()))
    times = [(step + 1) * spec.data.step_ms for step in range(spec.data.steps)]
    rates = [
        f"{percent(rate, 2)} of layer {n}"
        for n, rate in enumerate(judgement.tally.firing_rates, start=1)
    ]
    y_label = "neurons spiking per step (%)"
    return {
        "activity_words": escape(
            f"Of the neurons, {listed(rates)} spike in a step of a held-out sample. The kernels' "
            "work grows with these numbers."
        ),
        "rate_plot": plots.curves(
            by_epoch,
            epochs,
            "epoch",
            y_label,
            plots.zero_range(by_epoch),
            "Firing rate of each hidden layer over the epochs",
            whole=True,
        ),
        "time_plot": plots.curves(
            by_time,
            times,
            "time (ms)",
            y_label,
            plots.zero_range(by_time),
            "Firing rate of input and hidden layers within a sample",
        ),
    }


def _layer_class(number: int) -> str:
    return f"s{1 + (number - 1) % 6}"


def _confusion(results: Results) -> Dict[str, str]:
    counts = results.judgement.confusion
    totals, right = counts.sum(axis=1), np.diag(counts)
    wrong = int(totals.sum() - right.sum())
    pairs = [
        (int(counts[true, predicted]), true, predicted)
        for true in range(len(counts))
        for predicted in range(len(counts))
        if true != predicted and counts[true, predicted]
    ]
    words = f"{wrong:,} of {int(totals.sum()):,} held-out samples are taken for another class."
    if pairs:
        most, true, predicted = max(pairs, key=lambda pair: pair[0])
        times = "once" if most == 1 else f"{most:,} times"
        words += f" The most frequent mistake is a {predicted} seen in a {true}, {times}."
    rows = []
    for label in range(len(counts)):
        share = right[label] / totals[label] if totals[label] else None
        rows.append(
            [
                str(label),
                f"{totals[label]:,}",
                f"{totals[label] - right[label]:,}",
                "none held out" if share is None else percent(share) + meter(float(share)),
            ]
        )
    return {
        "confusion_words": escape(words),
        "confusion_plot": plots.confusion(counts, "Confusion matrix of the held-out samples"),
        "class_table": table(["class", "held out", "mistaken", "accuracy"], rows),
    }


def _time(results: Results) -> Dict[str, str]:
    execution = results.profile["execution"]
    train = execution["runs"][0]
    steps = train["steps"]
    phases = execution["phases"]
    total = sum(phase["seconds"] for phase in phases)
    phase_rows: List[List[str]] = []
    for phase in phases:
        mark = swatch(PHASE_COLOURS[phase["name"]])
        phase_rows.append([mark + phase["name"], escape(phase["what"]), *_share(phase, total)])
        if phase["name"] == "run":
            for part in train["parts"]:
                name = f'<span class="indent">{escape(part["name"])}</span>'
                phase_rows.append([name, escape(part["what"]), *_share(part, total)])
    mean = steps["seconds"]["mean"]
    step_rows = [
        [
            swatch(STEP_COLOURS[part["name"]]) + part["name"],
            escape(part["what"]),
            *(_optional_duration(part["seconds"].get(key)) for key in ("mean", "p50", "p95")),
            duration(part["seconds"]["total"]) if part["name"] != "residual" else "",
            percent(part["share"]) if part["share"] is not None else "",
        ]
        for part in steps["parts"]
        if part["name"] != "residual" or abs(part["seconds"]["total"]) >= 1e-6
    ]
    whole = steps["seconds"]
    spread = [_optional_duration(whole[key]) for key in ("mean", "p50", "p95")]
    step_rows.append(["step", "", *spread, duration(whole["total"]), percent(1.0)])
    done = (
        f"{steps['count']:,} training steps of up to {results.spec.training.batch_size:,} samples, "
        "each one measured."
        if steps["count"]
        else "There was no training step in this attempt: an earlier one had done them all."
    )
    words = (
        f"{done} The parts of a step add up to it: the kernels report their own time, the rest is "
        "what the runner's clock saw around them."
    )
    return {
        "time_words": escape(words),
        "attempt_seconds": duration(total),
        "phase_bar": plots.stacked_bar(
            [(p["name"], f"f{PHASE_COLOURS[p['name']]}", p["seconds"]) for p in phases],
            "Share of each phase in the attempt",
        ),
        "phase_table": table(["phase", "what", "time", "share"], phase_rows, words=(1,)),
        "step_seconds": f"{duration(mean)} on average" if mean else "none in this attempt",
        "step_bar": plots.stacked_bar(
            [
                (p["name"], f"f{STEP_COLOURS[p['name']]}", max(0.0, p["seconds"]["total"]))
                for p in steps["parts"]
            ],
            "Share of each part in a training step",
        ),
        "step_table": table(
            ["part", "what", "mean", "p50", "p95", "total", "share"],
            step_rows,
            words=(1,),
            sum_row=True,
        ),
    }


def _share(part: Dict[str, Any], total: float) -> List[str]:
    return [duration(part["seconds"]), percent(part["seconds"] / total)]


def _optional_duration(seconds: Optional[float]) -> str:
    return "" if seconds is None else duration(seconds)


def _network(results: Results) -> Dict[str, str]:
    spec, tally = results.spec, results.judgement.tally
    rows = []
    for number, layer in enumerate(spec.network.layers, start=1):
        synapses = results.sizes[number - 1] * layer.neurons
        rows.append(
            [
                f"layer {number}",
                f"{layer.neurons:,}",
                f"{synapses:,}",
                f"{layer.decay:g}",
                f"{layer.threshold:g}",
                "none" if layer.second_threshold is None else f"{layer.second_threshold:g}",
                "all" if layer.capacity is None else f"{layer.capacity:,}",
                percent(tally.firing_rates[number - 1], 2),
                percent(tally.gradient_shares[number - 1], 1),
                count(results.dropped_in_training[number - 1]),
            ]
        )
    readout = spec.network.readout
    synapses = results.sizes[-2] * results.sizes[-1]
    none = "–"
    rows.append(
        [
            "readout",
            f"{results.sizes[-1]:,}",
            f"{synapses:,}",
            f"{readout.decay:g}",
            *[none] * 6,
        ]
    )
    memory = results.profile["memory"]
    return {
        "network_words": escape(
            f"{count(sum(a * b for a, b in zip(results.sizes, results.sizes[1:])))} weights. "
            "Firing rate is spikes, gradient set is neurons above the second threshold, per neuron "
            "and step on held-out samples; dropped counts spikes without a slot in training. "
            f"Peak memory of the process {size(memory['peakRss']['bytes'])}; weights "
            f"{size(memory['weights']['bytes'])}, optimizer {size(memory['optimizer']['bytes'])}, "
            f"kept for the backward pass {size(memory['savedForBackward']['bytes'])} (computed)."
        ),
        "layer_table": table(
            [
                "",
                "neurons",
                "weights",
                "decay",
                "threshold",
                "second threshold",
                "slots",
                "firing rate",
                "gradient set",
                "dropped",
            ],
            rows,
        ),
    }


def _origin(results: Results) -> Dict[str, str]:
    profile, git = results.profile, results.git
    target, versions = profile["compilation"]["target"], profile["versions"]
    kernel = ", ".join(f"{k} {v}" for k, v in profile["compilation"]["kernel"].items())
    revision = git["commit"] or f"not known: {git['why']}"
    if git["modified"]:
        revision += " with local changes"
    resumed = profile["attempt"]["resumed_from_step"]
    facts: Sequence[Tuple[str, str]] = [
        ("Seed", str(results.spec.seed)),
        ("Spec SHA-256", results.spec_sha256),
        ("Job", f"{results.job_id}, attempt {results.attempt}"),
        ("Resumed", f"from the checkpoint at step {resumed:,}" if resumed else "no"),
        ("Processor", f"{target['model']}, {target['cores']} cores, {target['threads']} threads"),
        ("Kernel", kernel),
        ("Software", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Git revision", revision),
        *((f"metadata: {key}", value) for key, value in results.spec.metadata.items()),
    ]
    shown = json.dumps(spec_to_json(results.spec), indent=2, ensure_ascii=False)
    return {
        "facts": definitions(facts),
        "spec": escape(shown),
        "footer": escape(
            "Beside this page: profile.json (time, activity, memory), trace.json.gz (for "
            "Perfetto), metrics.jsonl, weights.npz, network.nir, and manifest.json with the "
            "digest of each."
        ),
    }
