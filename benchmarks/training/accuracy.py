"""Measure the accuracy that the reference networks reach on the generated data sets and digits.

    python -m benchmarks.training accuracy                      every task, some minutes
    python -m benchmarks.training accuracy --only randman --seeds 1
    python -m benchmarks.training accuracy --quick              few epochs, one seed

Each task is an example of examples/: with gradients for all neurons (dense), and with a second
threshold of 0.9 on the hidden layers (gated), over several seeds of weights and batch order; few
samples also over as many splits into training and test samples. The settings were chosen on other
data than the test samples: manifolds and sounds of another seed, the validation points,
cross-validation within the digits' training samples.
The digits also learn from shifted copies of the training images; no other task has more data than
its data set. The exit code is 1 if a mean misses its target. Delayed recall is run without adaptive
thresholds, too, which must leave it near chance, and few samples are learned without dropout, to
compare with. Temporal order is run with delays of synapses, and without any, which must not
suffice, also where membranes remember longer. Gated networks are also run with weights that are
rounded to bfloat16, and with weights that are quantised to 8 and 4 bits in training and test.
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.common import command_line
from benchmarks.common.tables import ROOT, Row, finish
from benchmarks.training.accuracy_tasks import TASKS, Task
from ipulse.spec import ExperimentSpec, parse_spec, spec_to_json
from ipulse_core.data_files.directory import VARIABLE
from ipulse_core.registry.versions import lower
from ipulse_core.spec.conv_layers import hidden_sizes
from ipulse_core.spec.derived_values import class_count, input_channels
from ipulse_core.spec.resolved_spec import read_spec

SECOND_THRESHOLD = 0.9  # of a gated network; the thresholds are 1
BITS = {"int8": 8, "int4": 4}
WEIGHTS = ("float32", "bfloat16", *BITS)


@dataclass(frozen=True)
class Outcome:
    """The accuracies of one network over the seeds."""

    task: str
    gradient: str  # dense or gated
    network: str
    weights: str  # one of WEIGHTS
    epochs: int
    target: float
    accuracies: list[float]  # on the held-out samples after the last epoch, by seed
    seconds: float  # of one training, mean
    processor_seconds: float  # of all threads in one training, mean
    rates: list[float]  # spikes per neuron and step of each hidden layer, mean over the seeds
    at_most: float = 1.0  # the mean accuracy must not exceed it

    @property
    def mean(self) -> float:
        """The mean accuracy over the seeds."""
        return float(np.mean(self.accuracies))

    @property
    def reached(self) -> bool:
        """True if the mean reaches the target and does not exceed its limit."""
        return self.target <= self.mean <= self.at_most

    def row(self) -> Row:
        """Return the outcome as a row of the table, in percent."""
        return {
            "task": self.task,
            "gradient": self.gradient,
            "weights": self.weights,
            "network": self.network,
            "accuracy": f"{100 * self.mean:.2f}",
            "lowest": f"{100 * min(self.accuracies):.2f}",
            "highest": f"{100 * max(self.accuracies):.2f}",
            "target": f"{100 * self.target:g}" if self.target else f"< {100 * self.at_most:g}",
            "reached": "yes" if self.reached else "no",
            "firing_rates": " ".join(f"{100 * rate:.1f}" for rate in self.rates),
            "epochs": self.epochs,
            "seconds": f"{self.seconds:.1f}",
        }


def spec_of(task: Task, gated: bool, seed: int, weights: str, quick: bool) -> ExperimentSpec:
    """Return the example with the changes of the variant; `weights` is one of WEIGHTS."""
    return read_spec(document_of(task, gated, seed, weights, quick))


def document_of(task: Task, gated: bool, seed: int, weights: str, quick: bool) -> dict[str, Any]:
    """Return the resolved document of `spec_of`."""
    written = (ROOT / f"examples/{task.example}.yaml").read_text()
    document: dict[str, Any] = lower(yaml.safe_load(written))
    network = document["network"]
    if task.neurons:
        network["layers"] = [{**network["layers"][0], "neurons": n} for n in task.neurons]
    for layer in network["layers"]:
        if not task.adapts:
            del layer["adaptation"]
        if not task.drops:
            del layer["dropout"]
        if task.decay is not None:
            layer["decay"] = task.decay
        if task.delays is not None and "delays" in layer:
            longest = {"longest": layer.pop("delays")["longest"]}
            layer.update({"delays": longest} if task.delays == "synapse" else {})
        layer["second_threshold"] = SECOND_THRESHOLD if gated else None
    document["seed"] = seed
    if task.program:  # no service: `data_of` writes the file into the data directory
        document["data"]["name"] = document["data"].pop("dataset")
    if task.splits:
        document["data"]["split_seed"] = seed
    document["device"] = {"kind": "cpu"}
    if weights in BITS:
        network.setdefault("readout", {})
        for layer in (*network["layers"], network["readout"]):
            layer["quantisation"] = {"bits": BITS[weights]}
    else:
        document["device"]["weights_dtype"] = weights
    if quick:
        document["training"]["epochs"] = task.quick_epochs
    resolved: dict[str, Any] = spec_to_json(parse_spec(document))
    return resolved


def outcome(
    task: Task,
    gated: bool,
    seeds: int,
    weights: str = "float32",
    quick: bool = False,
    first_seed: int = 1,
) -> Outcome:
    """Train the network once per seed; report each on standard error."""
    from benchmarks.training.single_process import build_kernels, train

    build_kernels()  # not part of the measured time
    with data_of(task):
        numbers = range(first_seed, first_seed + seeds)
        return _trained(task, gated, numbers, weights, quick, train)


@contextmanager
def data_of(task: Task) -> Iterator[None]:
    """Write the task's data set to a temporary directory, which the training reads."""
    if task.program is None:
        yield
        return
    before = os.environ.get(VARIABLE)
    with tempfile.TemporaryDirectory() as directory:
        runpy.run_path(str(ROOT / "examples" / task.program))["write"](Path(directory))
        os.environ[VARIABLE] = directory
        try:
            yield
        finally:
            del os.environ[VARIABLE]
            if before is not None:
                os.environ[VARIABLE] = before


def _trained(
    task: Task,
    gated: bool,
    seeds: range,
    weights: str,
    quick: bool,
    train: Callable[[ExperimentSpec], Any],
) -> Outcome:
    accuracies, seconds, busy, rates = [], [], [], []
    for seed in seeds:
        spec = spec_of(task, gated, seed, weights, quick)
        began, busy_before = time.perf_counter(), time.process_time()
        metrics = train(spec)
        seconds.append(time.perf_counter() - began)
        busy.append(time.process_time() - busy_before)
        accuracies.append(metrics.score)
        rates.append(metrics.firing_rates[: len(spec.network.layers)])
        label = f"{task.title}, {'gated' if gated else 'dense'}, {weights}, seed {seed}"
        print(f"{label}: {100 * metrics.score:.2f} %, {seconds[-1]:.1f} s", file=sys.stderr)
    sizes = [input_channels(spec.data), *hidden_sizes(spec), class_count(spec.data)]
    return Outcome(
        task=task.title,
        gradient="gated" if gated else "dense",
        network="-".join(map(str, sizes)),
        weights=weights,
        epochs=spec.training.epochs,
        target=task.quick_target if quick else task.target_of(weights),
        accuracies=accuracies,
        seconds=float(np.mean(seconds)),
        processor_seconds=float(np.mean(busy)),
        rates=np.mean(rates, axis=0).tolist(),
        at_most=task.at_most,
    )


def main(arguments: list[str]) -> int:
    """Run the command line."""
    parser = command_line.parser("training accuracy", __doc__)
    parser.add_argument("--quick", action="store_true", help="few epochs, one seed, lower targets")
    parser.add_argument("--seeds", type=int, default=3, help="trainings per network (%(default)s)")
    parser.add_argument("--only", metavar="TASK", default="", help="tasks with names that begin so")
    parser.add_argument("--weights", choices=WEIGHTS, help="only networks with these weights")
    options = parser.parse_args(arguments)
    seeds = 1 if options.quick else options.seeds
    outcomes = []
    for task in TASKS:
        if not task.title.startswith(options.only):
            continue
        for gated in (False, True):
            if options.weights in (None, "float32") and not (task.is_control and gated):
                outcomes.append(outcome(task, gated, seeds, quick=options.quick))
        # Convolutions keep their float32 weights here.
        if not options.quick and not task.is_control and task.program is None:
            for weights in WEIGHTS[1:]:
                if options.weights in (None, weights):
                    outcomes.append(outcome(task, True, seeds, weights))
    if not outcomes:
        titles = ", ".join(task.title for task in TASKS)
        parser.error(f"--only {options.only}: no such task; there are {titles}")
    finish([each.row() for each in outcomes], options.output)
    return 0 if all(each.reached for each in outcomes) else 1
