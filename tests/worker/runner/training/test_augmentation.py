"""Training samples change from epoch to epoch, and only as the spec says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Set, Tuple

import numpy as np
import pytest

from ipulse_worker.runner.data.spike_trains import SpikeTrains
from ipulse_worker.runner.training.augmentation import Augmentation
from tests.worker.runner.attempts import attempt
from tests.worker.runner.conftest import SPEC
from tests.worker.runner.data.loaded import loaded
from tests.worker.runner.trainings import spec_of

Events = Set[Tuple[int, int]]
SAMPLES = np.array([3, 8, 1])
STEPS = 40


class Augmented:
    """Some samples of the digits before and after."""

    def __init__(self, step_ms: float = 2.0, **settings: Any) -> None:
        self.spec = spec_of(
            network={"layers": [{"neurons": 2}]},
            training={"augmentation": settings},
            data={"steps": STEPS, "step_ms": step_ms},
        )
        self.trains = loaded(self.spec.data).trains
        self.augmentation = Augmentation(self.spec, self.trains)

    def before(self) -> List[Events]:
        return events(*self.trains.batch(SAMPLES))

    def after(self, epoch: int = 0) -> List[Events]:
        return events(*self.augmentation.batch(SAMPLES, epoch))


def events(ids: np.ndarray, counts: np.ndarray) -> List[Events]:
    found: List[Events] = [set() for _ in range(counts.shape[1])]
    for step, sample in np.argwhere(counts > 0):
        spikes = ids[step, sample, : counts[step, sample]].tolist()
        assert spikes == sorted(set(spikes))
        assert not ids[step, sample, counts[step, sample] :].any()
        found[sample] |= {(int(step), channel) for channel in spikes}
    return found


@pytest.mark.old_python
def test_a_sample_changes_by_epoch_and_not_by_its_batch() -> None:
    augmented = Augmented(drop=0.3)
    first = augmented.after(0)
    assert augmented.after(0) == first
    assert augmented.after(1) != first
    assert events(*augmented.augmentation.batch(SAMPLES[1:2], 0)) == first[1:2]
    other = spec_of(
        network={"layers": [{"neurons": 2}]},
        training={"augmentation": {"drop": 0.3}},
        data={"steps": STEPS, "step_ms": 2.0},
        seed=augmented.spec.seed + 1,
    )
    changed = Augmentation(other, augmented.trains).batch(SAMPLES, 0)
    assert events(*changed) != first


def test_dropped_events_are_a_part_of_all() -> None:
    augmented = Augmented(drop=0.3)
    before, after = augmented.before(), augmented.after()
    assert all(some < whole for some, whole in zip(after, before))
    share = sum(map(len, after)) / sum(map(len, before))
    assert share == pytest.approx(0.7, abs=0.2)


@pytest.mark.parametrize(("step_ms", "shift_ms"), [(2.0, 10.0), (1.1, 3.3)])
def test_a_shift_moves_a_whole_sample_by_at_most_so_much(step_ms: float, shift_ms: float) -> None:
    """3.3 / 1.1 is 2.999..., and three steps."""
    augmented = Augmented(step_ms, shift_ms=shift_ms)
    most = round(shift_ms / step_ms)
    moves = set()
    for epoch in range(20):
        for one, other in zip(augmented.before(), augmented.after(epoch)):
            fitting = [
                move
                for move in range(-most, most + 1)
                if {(s + move, c) for s, c in one if 0 <= s + move < STEPS} == other
            ]
            assert fitting
            moves.add(fitting[0])
    assert {-most, most} <= moves


def test_jitter_moves_events_in_time_alone() -> None:
    augmented = Augmented(jitter_ms=6.0)
    for one, other in zip(augmented.before(), augmented.after()):
        assert one != other
        assert {channel for _, channel in other} <= {channel for _, channel in one}


def test_flips_mirror_the_image() -> None:
    augmented = Augmented(flip=True)
    seen = []
    for epoch in range(20):
        for one, other in zip(augmented.before(), augmented.after(epoch)):
            mirrored = {(step, channel // 8 * 8 + 7 - channel % 8) for step, channel in one}
            assert other in (one, mirrored)
            seen.append(other == mirrored)
    assert 15 < sum(seen) < 45


def test_crops_move_the_image_and_lose_what_leaves_it() -> None:
    augmented = Augmented(crop_pixels=1)
    moves = set()
    for epoch in range(20):
        for one, other in zip(augmented.before(), augmented.after(epoch)):
            fitting = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if moved(one, y, x) == other]
            assert fitting
            moves.add(fitting[0])
    assert len(moves) == 9


def moved(one: Events, down: int, right: int) -> Events:
    found = set()
    for step, channel in one:
        y, x = channel // 8 + down, channel % 8 + right
        if 0 <= y < 8 and 0 <= x < 8:
            found.add((step, 8 * y + x))
    return found


def test_a_step_has_no_more_spikes_than_slots() -> None:
    """Two spikes in different steps of one sample, so that there is one slot."""
    counts = np.zeros((1, 10), np.uint16)
    counts[0, 2:8] = 1
    trains = SpikeTrains(64, counts, np.arange(6, dtype=np.uint16))
    spec = spec_of(
        network={"layers": [{"neurons": 2}]},
        training={"augmentation": {"jitter_ms": 3.0}},
        data={"steps": 10, "step_ms": 1.0},
    )
    augmentation = Augmentation(spec, trains)
    for epoch in range(30):
        _, number = augmentation.batch(np.array([0]), epoch)
        assert number.max() <= 1
    assert augmentation.dropped > 0


@pytest.mark.usefixtures("threads_are_set")
def test_equal_specs_end_with_the_same_bits(tmp_path: Path) -> None:
    training: Dict[str, Any] = {
        "epochs": 2,
        "batch_size": 32,
        "augmentation": {"drop": 0.1, "jitter_ms": 1.0, "crop_pixels": 1},
    }
    spec = {**SPEC, "network": {"layers": [{"neurons": 8}]}, "training": training}
    whole = attempt(tmp_path / "whole", spec)
    again = attempt(tmp_path / "again", spec)
    plain = attempt(tmp_path / "plain", {**spec, "training": {"epochs": 2, "batch_size": 32}})
    stored = []
    for result in (whole, again, plain):
        assert result.done["reason"] == "completed", result.done
        with np.load(result.directory / "weights.npz", allow_pickle=False) as arrays:
            stored.append(arrays["layer_1"])
    np.testing.assert_array_equal(stored[0], stored[1])
    assert (stored[0] != stored[2]).any()
