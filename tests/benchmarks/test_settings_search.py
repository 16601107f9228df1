"""The search for the settings of a peer finds the best of those that it tries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.common.settings_search import Choice, search
from benchmarks.training.example_peers import EXAMPLES

ROOT = Path(__file__).resolve().parents[2]
GRID = {"rate": (0.1, 0.2), "slope": (1.0, 5.0), "scale": (1.0, 2.0)}


class Trainings:
    """Counts trainings, whose accuracy is best at one combination."""

    def __init__(self, **best: float) -> None:
        self.best = best
        self.tried: list[Choice] = []

    def __call__(self, choice: Choice) -> float:
        self.tried.append(choice)
        return sum(choice[name] == value for name, value in self.best.items()) / len(self.best)


class TestSearch:
    def test_all_combinations_are_tried_once(self) -> None:
        trainings = Trainings(rate=0.2, slope=5.0, scale=1.0)
        assert search(GRID, False, trainings) == trainings.best
        assert len(trainings.tried) == len({tuple(each.values()) for each in trainings.tried}) == 8

    def test_settings_are_chosen_one_after_the_other(self) -> None:
        trainings = Trainings(rate=0.2, slope=5.0, scale=2.0)
        assert search(GRID, True, trainings) == trainings.best
        assert len(trainings.tried) == 4
        assert trainings.tried[-1] == {"rate": 0.2, "slope": 5.0, "scale": 2.0}

    def test_the_first_of_equal_values_is_chosen(self) -> None:
        first = {name: values[0] for name, values in GRID.items()}
        for one_by_one in (False, True):
            assert search(GRID, one_by_one, lambda choice: 0.5) == first


class TestExamplePeers:
    def test_a_decay_is_sought_only_where_delays_are_missing(self) -> None:
        sought = {each.task.title for each in EXAMPLES if "decay" in each.grid}
        assert sought == {"temporal_order"}

    def test_more_processors_than_there_are_are_refused(self) -> None:
        command = [sys.executable, "-m", "benchmarks.training", "example-peers", "--threads=9999"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 2
        assert "--threads 9999" in done.stderr
