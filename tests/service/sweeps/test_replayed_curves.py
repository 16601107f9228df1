"""Early stopping, replayed on learning curves that were recorded once, beside Optuna's pruner."""

from __future__ import annotations

import csv
import random
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

import optuna

from ipulse.sweeps import AshaStopping, SweepObjective

# python -m benchmarks.training learning-curves
FILE = Path(__file__).with_name("learning_curves.csv")
SEARCHES, PARALLEL, FACTOR = 20, 4, 3
SHARES = (0.15, 0.2, 0.3)  # of the epochs of all trainings, which each search may take

Report = Callable[[int, float], bool]  # epoch and value; True: the trial continues


def recorded() -> list[list[float]]:
    lines = [line for line in FILE.read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    names = [name for name in rows[0] if name.startswith("epoch_")]
    return [[float(row[name]) for name in names] for row in rows]


def best_of(curves: list[list[float]], begin: Callable[[], Report], budget: int) -> float:
    """The best last value of a trial that was not stopped, within so many epochs of all trials.

    Trials run at the same time, an epoch each in turn.
    """
    waiting: Iterator[list[float]] = iter(curves)
    running: list[tuple[Iterator[float], int, Report]] = []
    best = 0.0
    for _ in range(budget):
        while len(running) < PARALLEL and (curve := next(waiting, None)) is not None:
            running.append((iter(curve), 0, begin()))
        if not running:
            break
        values, epoch, report = running.pop(0)
        value = next(values)
        goes_on = report(epoch + 1, value)
        if epoch + 1 == len(curves[0]):
            best = max(best, value)
        elif goes_on:
            running.append((values, epoch + 1, report))
    return best


def ours(epochs: int) -> Callable[[], Report]:
    rule, objective, rungs = AshaStopping(factor=FACTOR), SweepObjective(), {}

    def report(epoch: int, value: float) -> bool:
        if not rule.decides_after(epoch, epochs):
            return True
        others: list[float] = rungs.setdefault(epoch, [])
        goes_on = rule.goes_on(value, others, objective)
        others.append(value)
        return goes_on

    return lambda: report


def optunas(epochs: int) -> Callable[[], Report]:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    first = max(1, epochs // FACTOR**2)
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=first, reduction_factor=FACTOR)
    study = optuna.create_study(direction="maximize", pruner=pruner)

    def begin() -> Report:
        trial = study.ask()

        def report(epoch: int, value: float) -> bool:
            trial.report(value, epoch)
            if epoch < epochs and trial.should_prune():
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                return False
            if epoch == epochs:
                study.tell(trial, value)
            return True

        return report

    return begin


def test_searches_find_as_good_trials_as_those_of_optuna() -> None:
    curves = recorded()
    assert len(curves) == 32
    epochs = len(curves[0])
    for share in SHARES:
        budget = round(share * len(curves) * epochs)
        found: dict[str, list[float]] = {"ours": [], "optuna": []}
        for search in range(SEARCHES):
            order = random.Random(search).sample(curves, len(curves))
            found["ours"].append(best_of(order, ours(epochs), budget))
            found["optuna"].append(best_of(order, optunas(epochs), budget))
        medians = {name: statistics.median(values) for name, values in found.items()}
        assert medians["ours"] >= medians["optuna"], (share, found)
    whole = max(curve[-1] for curve in curves)
    assert medians["ours"] >= 0.97 * whole, "stopping early loses little"
