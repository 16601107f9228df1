"""Train snnTorch on the data of examples/, and compare its accuracy and time with ours.

    python -m benchmarks.training example-peers                      every example, about an hour
    python -m benchmarks.training example-peers --only few_samples   those whose names begin so
    python -m benchmarks.training example-peers --threads 1 --one-by-one    on a busy machine

Both train with the example's epochs, batches, optimizer, schedule and loss, by turns, once per
seed, in float32 on all processors (`--threads`: on fewer). snnTorch's learning rate, slope of the
surrogate gradient and scale of the initial weights, where delays are missing also the decay of its
hidden membranes, are those of the best accuracy on a fifth of the training samples, which that
search leaves out of the training. The search tries all combinations, or with `--one-by-one` the
values of one setting after the other, each with the best of those before it. The example's own
were chosen on such a fifth, or on other splits and seeds of its data. No test sample takes part in
a choice. Seconds are those of one training, with reading its data and without the imports of the
libraries; processor seconds are summed over threads, and grow less than seconds if other programs
run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import command_line
from benchmarks.common.environments import MissingEnvironment, python_of
from benchmarks.common.settings_search import Choice, search
from benchmarks.common.tables import ROOT, Row, finish
from benchmarks.training.accuracy import Outcome, data_of, document_of, outcome
from benchmarks.training.accuracy_tasks import TASKS, Task
from benchmarks.training.comparison import REQUIREMENTS
from ipulse.spec import ExperimentSpec
from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.spec.resolved_spec import read_spec
from ipulse_worker.runner.data.load import load


@dataclass(frozen=True)
class Example:
    """An example and what is changed of it on both sides."""

    task: Task
    weights: str = "float32"
    adapts: bool = False  # also with adaptive thresholds, which snnTorch has only by hand
    # The values that are tried for snnTorch; a search of one after the other begins with the first.
    rates: tuple[float, ...] = (0.003, 0.001, 0.01)
    slopes: tuple[float, ...] = (25.0, 5.0)
    scales: tuple[float, ...] = (1.0, 2.0)
    decays: tuple[float, ...] = ()  # of the hidden membranes; none: the example's
    search_epochs: int | None = None  # None: the example's

    @property
    def grid(self) -> dict[str, tuple[float, ...]]:
        """The values of each setting that are tried for snnTorch."""
        decays = {"decay": self.decays} if self.decays else {}
        return {**decays, "rate": self.rates, "slope": self.slopes, "scale": self.scales}

    @property
    def peer(self) -> str:
        """The name of snnTorch's network in tables."""
        if self.adapts:
            return "snnTorch, thresholds by hand"
        return "snnTorch, no delays" if self.task.example == "temporal_order" else "snnTorch"


def _task(name: str, **changes: Any) -> Task:
    return next(
        task
        for task in TASKS
        if task.example == name and all(getattr(task, k) == v for k, v in changes.items())
    )


_RECALL: dict[str, Any] = {"rates": (0.01, 0.003), "scales": (1.0,)}
EXAMPLES = (
    Example(_task("few_samples", drops=True), search_epochs=40),
    Example(_task("few_samples", drops=True), weights="int8", search_epochs=40),
    Example(_task("few_samples", drops=False), search_epochs=40),
    Example(_task("moving_digits"), search_epochs=2),
    Example(_task("delayed_recall", adapts=True), adapts=True, search_epochs=8, **_RECALL),
    Example(_task("delayed_recall", adapts=False), search_epochs=3, **_RECALL),
    Example(_task("temporal_order", delays=None), decays=(0.97, 0.9, 0.99)),
    Example(_task("temporal_order", delays="none", decay=None)),
)


def data_file(spec: ExperimentSpec, path: Path, searching: bool) -> None:
    """Write the samples of a spec for a peer.

    spikes: bits of the channels, uint8 [samples, steps, ceil(channels / 8)]; labels; training and
    held: indices of the samples to train on and to judge by. `searching` holds out every fifth
    training sample instead of the test samples.
    """
    dataset = load(
        spec.data, DataDirectory.from_environment(os.environ), lambda done, samples: None
    )
    trains = dataset.trains
    dense = np.zeros((trains.samples, trains.steps, trains.channels), bool)
    counts = trains.counts.reshape(-1)
    rows = np.repeat(np.arange(len(counts)), counts)
    dense.reshape(-1, trains.channels)[rows, trains.spike_channels] = True
    training, held = dataset.training, dataset.test
    if searching:
        chosen = np.random.RandomState(0).permutation(training)
        training, held = np.sort(chosen[len(chosen) // 5 :]), np.sort(chosen[: len(chosen) // 5])
    np.savez(
        path,
        spikes=np.packbits(dense, axis=2),
        channels=trains.channels,
        labels=dataset.labels,
        training=training,
        held=held,
    )


def ask(python: Path, spec: Path, data: Path, **options: Any) -> dict[str, float]:
    """Train snnTorch once in its own environment; return its accuracy and seconds."""
    arguments = [f"--{name}={value}" for name, value in options.items() if value is not True]
    arguments += [f"--{name}" for name, value in options.items() if value is True]
    done = subprocess.run(
        [python, "-m", "benchmarks.training.peers.snntorch_examples", spec, data, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "", "CUDA_VISIBLE_DEVICES": ""},
        stdout=subprocess.PIPE,
        check=True,
    )
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def _write(
    task: Task, example: Example, seed: int, few: bool, spec: Path, data: Path, searching: bool
) -> None:
    document = document_of(task, False, seed, example.weights, few)
    spec.write_text(json.dumps(document))
    data_file(read_spec(document), data, searching)


def compared(example: Example, python: Path, options: argparse.Namespace) -> list[Row]:
    """Train ours and snnTorch's; return a row of each."""
    few = options.epochs is not None
    task = replace(example.task, quick_epochs=options.epochs or 0)
    epochs = read_spec(document_of(task, False, 1, example.weights, few)).training.epochs
    fixed: dict[str, Any] = {"bits": 8 if example.weights == "int8" else 32}
    if example.adapts:
        fixed["adapts"] = True
    print(f"{task.title}, {example.weights}", file=sys.stderr)
    tried = options.search_epochs or example.search_epochs or epochs

    def accuracy_of(choice: Choice) -> float:
        answer = ask(python, path, data, epochs=tried, seed=1000, **choice, **fixed)
        _report(f"  {choice}", answer)
        return answer["accuracy"]

    with tempfile.TemporaryDirectory() as directory, data_of(task):
        path, data = Path(directory) / "spec.json", Path(directory) / "data.npz"
        _write(task, example, 1, few, path, data, searching=True)
        choice = search(example.grid, options.one_by_one, accuracy_of)
        answers, ours = [], []
        for seed in range(1, options.seeds + 1):
            for gated in (False,) if task.is_control else (False, True):
                ours.append(outcome(task, gated, 1, example.weights, few, seed))
                gradient = ours[-1].gradient
                _report(f"  IPUlse, {gradient}, seed {seed}", _answer(ours[-1]))
            _write(task, example, seed, few, path, data, searching=False)
            answers.append(ask(python, path, data, epochs=epochs, seed=seed, **choice, **fixed))
            _report(f"  {example.peer}, seed {seed}", answers[-1])
    rows = []
    for gradient in ("dense", "gated"):
        of = [_answer(each) for each in ours if each.gradient == gradient]
        if of:
            rows.append(_row(example, f"IPUlse, {gradient}", epochs, of))
    chosen = ", ".join(f"{name} {value:g}" for name, value in choice.items())
    return [*rows, {**_row(example, example.peer, epochs, answers), "chosen": chosen}]


def _answer(ours: Outcome) -> dict[str, float]:
    return {
        "accuracy": ours.mean,
        "seconds": ours.seconds,
        "processor_seconds": ours.processor_seconds,
    }


def _report(label: str, answer: dict[str, float]) -> None:
    times = f"{answer['seconds']:.1f} s, {answer['processor_seconds']:.1f} s of processors"
    print(f"{label}: {100 * answer['accuracy']:.2f} %, {times}", file=sys.stderr, flush=True)


def _row(example: Example, system: str, epochs: int, answers: list[dict[str, float]]) -> Row:
    accuracies = [answer["accuracy"] for answer in answers]
    mean = {
        key: f"{np.mean([answer[key] for answer in answers]):.1f}"
        for key in ("seconds", "processor_seconds")
    }
    return {
        "task": example.task.title,
        "system": system,
        "weights": example.weights,
        "accuracy": f"{100 * np.mean(accuracies):.2f}",
        "lowest": f"{100 * min(accuracies):.2f}",
        "highest": f"{100 * max(accuracies):.2f}",
        "epochs": epochs,
        "seeds": len(answers),
        **mean,
        "chosen": "as in the example",
    }


def main(arguments: list[str]) -> int:
    """Run the command line."""
    parser = command_line.parser("training example-peers", __doc__)
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each (%(default)s)")
    parser.add_argument("--only", metavar="TASK", default="", help="tasks with names that begin so")
    parser.add_argument("--epochs", type=int, help="of both systems (the example's)")
    parser.add_argument("--threads", type=int, help="processors of both systems (all)")
    parser.add_argument(
        "--one-by-one", action="store_true", help="search one setting after the other"
    )
    parser.add_argument("--search-epochs", type=int, help="epochs of each training in the search")
    options = parser.parse_args(arguments)
    processors = sorted(os.sched_getaffinity(0))
    if options.threads is not None:
        if not 1 <= options.threads <= len(processors):
            parser.error(f"--threads {options.threads}: this machine has {len(processors)}")
        os.sched_setaffinity(0, processors[: options.threads])  # which snnTorch's process inherits
    chosen = [each for each in EXAMPLES if each.task.title.startswith(options.only)]
    if not chosen:
        titles = ", ".join(each.task.title for each in EXAMPLES)
        parser.error(f"--only {options.only}: no such task; there are {titles}")
    try:
        python = python_of("torch", REQUIREMENTS)
    except MissingEnvironment as error:
        print(error, file=sys.stderr)
        return 1
    rows = []
    for example in chosen:
        rows += compared(example, python, options)
    finish(rows, options.output)
    return 0
