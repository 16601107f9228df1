"""What the network is made of, and how to get the same result again."""

from __future__ import annotations

import json
from html import escape
from typing import Dict, Sequence, Tuple

from ipulse.spec import spec_to_json
from worker.runner.results import Results

from .quantities import count, percent, size
from .tables import definitions, table


def network(results: Results) -> Dict[str, str]:
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


def origin(results: Results) -> Dict[str, str]:
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
