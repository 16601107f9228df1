"""The top of a report: what was trained, how well, and what to beware of."""

from __future__ import annotations

from html import escape
from typing import Dict

from worker.runner.results import Results

from .quantities import count, duration, percent
from .tables import tiles


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
