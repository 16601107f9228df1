"""`make accuracy`: what the reference networks reach on the generated data sets and the digits.

Each task is an example of examples/, with all neurons carrying gradient (dense) and with a second
threshold of 0.9 on the hidden layers (gated), over several seeds of weights and batch order. The
settings were chosen on other data than those that are judged here: manifolds of another seed, the
validation points, cross-validation within the digits' training samples. The digits learn from
shifted copies of the training images, too; no other task has more data than its data set.
Writes docs/accuracy.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ipulse.spec import ExperimentSpec, parse_spec

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "accuracy.md"
GATE = 0.9  # the second threshold of a gated network; thresholds are 1


@dataclass(frozen=True)
class Task:
    """One network on one data set."""

    example: str  # of examples/, without .yaml
    wanted: float  # the accuracy that the mean of the seeds must reach
    neurons: tuple[int, ...] | None = None  # of the hidden layers; None: the example's
    quick_epochs: int = 2  # of the quick form ...
    quick_wanted: float = 0.5  # ... and what it must reach

    @property
    def title(self) -> str:
        layers = len(self.neurons) if self.neurons else 0
        return f"{self.example}, {layers} layers" if layers > 1 else self.example


TASKS = (
    Task("randman", 0.99, quick_epochs=5, quick_wanted=0.9),
    Task("randman", 0.99, neurons=(128, 128, 128), quick_epochs=4, quick_wanted=0.88),
    Task("yin_yang", 0.95, quick_epochs=8, quick_wanted=0.915),
    Task("digits_population", 0.97, quick_epochs=1, quick_wanted=0.94),
)


@dataclass(frozen=True)
class Outcome:
    """What the seeds of one network reached."""

    task: str
    gating: str
    network: str
    weights_dtype: str
    epochs: int
    held_out: int  # samples
    wanted: float
    accuracies: list[float]  # on the held-out samples after the last epoch, by seed
    seconds: float  # of one training, mean
    rates: list[float]  # spikes per neuron and step of each hidden layer, mean of the seeds

    @property
    def mean(self) -> float:
        return float(np.mean(self.accuracies))

    @property
    def reached(self) -> bool:
        return self.mean >= self.wanted


def spec_of(task: Task, gated: bool, seed: int, weights_dtype: str, quick: bool) -> ExperimentSpec:
    """The example with what the variant changes."""
    document: dict[str, Any] = yaml.safe_load((ROOT / f"examples/{task.example}.yaml").read_text())
    network = document["network"]
    if task.neurons:
        network["layers"] = [{**network["layers"][0], "neurons": n} for n in task.neurons]
    for layer in network["layers"]:
        layer["second_threshold"] = GATE if gated else None
    document["seed"] = seed
    document["device"] = {"kind": "cpu", "weights_dtype": weights_dtype}
    if quick:
        document["training"]["epochs"] = task.quick_epochs
    return parse_spec(document)


def outcome(
    task: Task, gated: bool, seeds: int, weights_dtype: str = "float32", quick: bool = False
) -> Outcome:
    """Trains the network once per seed, from 1 on, and says on standard error how it went."""
    from benchmarks.training import build_kernels, train

    build_kernels()  # whose time is not the training's
    accuracies, seconds, rates = [], [], []
    for seed in range(1, seeds + 1):
        spec = spec_of(task, gated, seed, weights_dtype, quick)
        began = time.perf_counter()
        tally = train(spec)
        seconds.append(time.perf_counter() - began)
        accuracies.append(tally.accuracy)
        rates.append(tally.firing_rates[: len(spec.network.layers)])
        words = f"{task.title}, {'gated' if gated else 'dense'}, {weights_dtype}, seed {seed}"
        print(f"{words}: {100 * tally.accuracy:.2f} %, {seconds[-1]:.1f} s", file=sys.stderr)
    sizes = [spec.data.inputs, *(layer.neurons for layer in spec.network.layers), spec.data.classes]
    return Outcome(
        task=task.title,
        gating="gated" if gated else "dense",
        network="-".join(map(str, sizes)),
        weights_dtype=weights_dtype,
        epochs=spec.training.epochs,
        held_out=int(tally.sums[0]),
        wanted=task.quick_wanted if quick else task.wanted,
        accuracies=accuracies,
        seconds=float(np.mean(seconds)),
        rates=np.mean(rates, axis=0).tolist(),
    )


def page(outcomes: list[Outcome], seeds: int, before: str = "") -> str:
    """docs/accuracy.md; of tasks that are not among the outcomes, the rows of the page `before`."""
    words = (__doc__ or "").split("\n\n", 1)[1].replace("\nWrites docs/accuracy.md.", "").strip()
    head = (
        "| task | gradient | weights | network | accuracy, mean | spread | wanted | "
        "firing rate | epochs | seconds |\n" + "| --- " * 10 + "|"
    )
    titles = [task.title for task in TASKS]
    others = {f"| {title} " for title in titles} - {f"| {o.task} " for o in outcomes}
    rows = [line for line in before.split("\n") if line[: line.find("|", 1)] in others]
    rows += [
        f"| {o.task} | {o.gating} | {o.weights_dtype} | {o.network} | {100 * o.mean:.2f} % | "
        f"{100 * min(o.accuracies):.2f} to {100 * max(o.accuracies):.2f} % | "
        f"{100 * o.wanted:g} %{'' if o.reached else ', **missed**'} | "
        f"{', '.join(f'{100 * rate:.1f} %' for rate in o.rates)} | {o.epochs} | {o.seconds:.1f} |"
        for o in outcomes
    ]
    order = {f"| {title} ": number for number, title in enumerate(titles)}
    rows.sort(key=lambda row: order.get(row[: row.find("|", 1)], 0))
    table = "\n".join([head, *rows])
    return (
        "# Accuracy\n\nWritten by `make accuracy`: run it again instead of changing this page.\n\n"
        f"{words}\n\nMean and spread are over {seeds} seeds, on the held-out samples, by the "
        "weights at the end; firing rates are of the hidden layers. Seconds are of one training, "
        f"on {len(os.sched_getaffinity(0))} cores.\n\n{table}\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="print the outcomes, write no page")
    parser.add_argument("--quick", action="store_true", help="few epochs, one seed, no page")
    parser.add_argument("--seeds", type=int, default=3, help="trainings per network")
    parser.add_argument("--only", metavar="TASK", default="", help="tasks that begin so")
    asked = parser.parse_args()
    seeds = 1 if asked.quick else asked.seeds
    outcomes = []
    for task in TASKS:
        if not task.title.startswith(asked.only):
            continue
        for gated in (False, True):
            outcomes.append(outcome(task, gated, seeds, quick=asked.quick))
        if not asked.quick:
            outcomes.append(outcome(task, True, seeds, "bfloat16"))
    if asked.json:
        print(json.dumps([dataclasses.asdict(each) for each in outcomes], indent=1))
        return judged(outcomes)
    before = PAGE.read_text(encoding="utf-8") if asked.only else ""
    if asked.quick or (asked.only and f"over {seeds} seeds" not in before):
        print(page(outcomes, seeds).split("\n\n")[-1])
    else:
        PAGE.write_text(page(outcomes, seeds, before), encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return judged(outcomes)


def judged(outcomes: list[Outcome]) -> int:
    """The exit code; says on standard error what was missed."""
    missed = [each for each in outcomes if not each.reached]
    for each in missed:
        print(f"missed: {each.task}, {each.gating}, {each.weights_dtype}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
