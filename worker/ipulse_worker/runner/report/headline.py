"""The top of a report: what was trained, how well, and what to beware of."""

from __future__ import annotations

from html import escape
from typing import Dict

from ipulse_worker.runner.model.network import spiking_names
from ipulse_worker.runner.report.quantities import count, duration, percent
from ipulse_worker.runner.report.tables import tiles
from ipulse_worker.runner.results.results import Results


def headline(results: Results) -> Dict[str, str]:
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
    is_emulated = target.get("emulated", False)
    spikes = results.judgement.spikes_by_step.sum()
    return {
        "title": escape(f"{spec.name}: IPUlse training report"),
        "name": escape(spec.name),
        "lede": escape(
            f"{layers} and a {spec.network.readout.kind} readout, {shape}, on {spec.data.words}: "
            f"{spec.data.steps} steps of {spec.data.step_ms:g} ms. "
            f"Started {results.started_at[:16].replace('T', ' ')} UTC."
        ),
        "tiles": tiles(
            [
                (
                    "Test accuracy",
                    percent(tally.accuracy),
                    f"{int(tally.sums[2]):,} of {held_out:,} held-out samples, {_epochs(results)}",
                ),
                ("Run phase", duration(train["seconds"]), "training and testing"),
                (
                    "Speed",
                    f"{count(speed)}/s" if speed is not None else "none",
                    "samples in training steps" + (", emulated" if is_emulated else ""),
                ),
                ("Hidden spikes", count(spikes), "of a held-out sample, mean"),
                ("Seed", str(spec.seed), f"{target['threads']} threads, {kernel}"),
            ]
        ),
        "warnings": _warnings(results),
    }


def _epochs(results: Results) -> str:
    """How long it was trained, and which epoch's weights these are."""
    done = len(results.history.epochs("loss"))
    told = "1 epoch" if done == 1 else f"{done} epochs"
    if done < results.spec.training.epochs:
        told += f" of {results.spec.training.epochs} (stopped early)"
    if results.kept_epoch != done:
        told += f", weights of epoch {results.kept_epoch}"
    return told


def _called(name: str) -> str:
    return "The readout" if name == "readout" else f"Layer {name}"


def _warnings(results: Results) -> str:
    found = []
    events = results.events
    if events.outside or events.over_capacity:
        found.append(
            (
                "Input events were dropped",
                f"Of {count(events.read)} events, {count(events.outside)} lie outside of the "
                f"{results.spec.data.steps:,} steps and {count(events.over_capacity)} found no "
                "input slot. Raise data.steps or data.step_ms, and data.capacity.",
            )
        )
    tested = results.judgement.tally.dropped
    names = spiking_names(results.spec)
    for name, trained, held_out in zip(names, results.dropped_in_training, tested):
        if trained or held_out:
            found.append(
                (
                    f"{_called(name)} dropped spikes",
                    f"{count(trained)} in training and {count(held_out)} on the held-out samples "
                    "found no slot and went nowhere. Raise the layer's capacity, let it grow, or "
                    "leave it out for one slot per neuron.",
                )
            )
    for name, rate in zip(names, results.judgement.tally.firing_rates):
        if rate == 0:
            found.append(
                (
                    f"{_called(name)} is silent",
                    "No neuron of it spikes on the held-out samples, so nothing behind it learns. "
                    "Raise network.initial_membrane_std or lower the layer's threshold.",
                )
            )
    return "".join(
        f'<div class="warning" role="note"><b>{escape(title)}</b>{escape(text)}</div>'
        for title, text in found
    )
