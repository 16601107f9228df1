"""A training that is resumed ends with the same bits as one that was not disturbed."""

from __future__ import annotations

import multiprocessing
import random
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any, Dict, Iterator, Optional

import pytest

from ipulse_worker.runner.cancellation import Cancellation, Cancelled
from ipulse_worker.runner.training.checkpoint import load, save
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.work_dir import WorkDir
from tests.worker.runner.training.runs import (
    DELAYS,
    DROPOUT,
    EVERYTHING,
    STANDARDISED,
    assert_same,
    run,
    same_bits,
    stop_after,
)
from tests.worker.runner.trainings import recorded_progress, spec_of, training_of

DIGEST = "00" * 32


def _keep(training: Training, folder: Path) -> None:
    save(training.checkpoint(DIGEST), WorkDir(folder), "c.npz")


@pytest.fixture(scope="module")
def processes() -> Iterator[Pool]:
    """A process that a new one replaces now and then: each training keeps 20 MB of TensorFlow."""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=25) as pool:
        yield pool


def check_stops(seed: int, folder: Path) -> None:
    """Stop a job at random steps, as for others; each attempt resumes from the file."""
    dice, cancellation = random.Random(seed), Cancellation()
    cancellation.defer()
    network = dice.choice((None, DROPOUT, STANDARDISED, DELAYS))
    spec = spec_of(seed=seed) if network is None else spec_of(seed=seed, network=network)
    undisturbed = training_of(spec)
    run(undisturbed, cancellation)
    steps = sorted(dice.sample(range(1, undisturbed.step), dice.randint(1, 3)))
    for number, step in enumerate(steps):
        stopped = training_of(spec)
        if number:
            stopped.resume(load(folder / "c.npz", DIGEST, like=stopped.state()))
        stop_after(stopped, step, cancellation)
        keep = partial(_keep, stopped, folder)
        with recorded_progress(stopped) as (progress, _), pytest.raises(Cancelled):
            stopped.run(progress, cancellation, keep)
        cancellation.requested = False
    resumed = training_of(spec)
    resumed.resume(load(folder / "c.npz", DIGEST, like=resumed.state()))
    assert resumed.step == steps[-1]
    run(resumed, cancellation)
    assert_same(resumed, undisturbed)


class TestResumed:
    @pytest.mark.sample(2)
    @pytest.mark.parametrize(
        "network",
        [
            pytest.param(None, id="plain"),
            pytest.param(DROPOUT, id="dropout"),
            pytest.param(STANDARDISED, id="standardised"),
            pytest.param(DELAYS, id="delays"),
        ],
    )
    def test_resumed_within_an_epoch_ends_with_the_same_bits(
        self, network: Optional[Dict[str, Any]], cancellation: Cancellation, tmp_path: Path
    ) -> None:
        """Three steps an epoch: the file is written after the fourth of nine, and read again."""
        spec = spec_of() if network is None else spec_of(network=network)
        undisturbed = training_of(spec)
        run(undisturbed, cancellation)

        stopped = training_of(spec)
        stop_after(stopped, 4, cancellation)
        with recorded_progress(stopped) as (progress, _), pytest.raises(Cancelled):
            stopped.run(
                progress,
                cancellation,
                lambda: save(stopped.checkpoint(DIGEST), WorkDir(tmp_path), "c.npz"),
            )

        cancellation.requested = False
        resumed = training_of(spec)
        resumed.resume(load(tmp_path / "c.npz", DIGEST, like=resumed.state()))
        assert resumed.step == 4
        run(resumed, cancellation)
        assert same_bits(resumed.model.weights, undisturbed.model.weights)
        assert resumed.history.text() == undisturbed.history.text()
        assert resumed.times.count == 5

    def test_with_everything_that_changes_has_changed_it(self, undisturbed: Training) -> None:
        by_epoch = undisturbed.history.epochs
        assert by_epoch("capacity/2")[-1] > 2
        assert by_epoch("second_threshold/1")[0] < by_epoch("second_threshold/1")[-1]
        assert undisturbed.stopped_early
        assert undisturbed.step < undisturbed.schedule.steps
        assert undisturbed.kept_epoch < len(by_epoch("loss"))

    @pytest.mark.old_python
    @pytest.mark.parametrize("step", [1, 7])
    def test_resumed_with_everything_that_changes_ends_with_the_same_bits(
        self, step: int, undisturbed: Training, cancellation: Cancellation, tmp_path: Path
    ) -> None:
        """Three steps an epoch: capacities grow, second thresholds rise, momentum is kept, and
        the best weights are put back."""
        stopped = training_of(EVERYTHING)
        stop_after(stopped, step, cancellation)
        with recorded_progress(stopped) as (progress, _), pytest.raises(Cancelled):
            stopped.run(
                progress,
                cancellation,
                lambda: save(stopped.checkpoint(DIGEST), WorkDir(tmp_path), "c.npz"),
            )
        cancellation.requested = False
        resumed = training_of(EVERYTHING)
        resumed.resume(load(tmp_path / "c.npz", DIGEST, like=resumed.state()))
        run(resumed, cancellation)
        assert_same(resumed, undisturbed)

    @pytest.mark.verify
    @pytest.mark.parametrize("seed", range(200))
    def test_stopped_up_to_three_times_for_others_ends_with_the_same_bits(
        self, seed: int, processes: Pool, tmp_path: Path
    ) -> None:
        processes.apply(check_stops, (seed, tmp_path))

    def test_resumed_after_the_end_is_the_same_training(
        self, undisturbed: Training, cancellation: Cancellation
    ) -> None:
        resumed = training_of(EVERYTHING)
        resumed.resume(undisturbed.checkpoint(DIGEST))
        run(resumed, cancellation)
        assert resumed.times.count == 0
        assert_same(resumed, undisturbed)
