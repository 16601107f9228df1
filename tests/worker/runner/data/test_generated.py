"""The sets that are generated: their definitions, and that they are the same everywhere."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.spec.derived_values import frequencies
from ipulse_worker.runner.data import Dataset, digits, frozen_noise, randman
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.randomness import Purpose, stream
from tests.worker.runner.specs import (
    DelayedRecallData,
    DigitsData,
    FrozenNoiseData,
    LinearLatency,
    PoissonData,
    PopulationCode,
    RandmanData,
    RateCode,
    YinYangData,
)

from .digest import digest
from .loaded import loaded

if TYPE_CHECKING:
    from ipulse.spec import Data


def dense(dataset: Dataset, samples: Any) -> np.ndarray:
    """Bool `[time, samples, channels]`."""
    ids, counts = dataset.trains.batch(np.asarray(samples))
    spikes = np.zeros((*counts.shape, dataset.trains.channels), dtype=bool)
    step, sample, slot = np.nonzero(np.arange(ids.shape[2]) < counts[:, :, None])
    spikes[step, sample, ids[step, sample, slot]] = True
    return spikes


DIGESTS = {
    "digits": (DigitsData(), "4e9415b5a1284dbe"),
    "digits, linear": (DigitsData(encoding=LinearLatency()), "4beb9e3b0822ec7c"),
    "digits, rate": (DigitsData(encoding=RateCode()), "014bbbe14800041a"),
    "digits, population": (DigitsData(encoding=PopulationCode()), "345ff2d8cc504db2"),
    "randman": (RandmanData(), "33752100faa780a2"),
    "randman, rough": (
        RandmanData(smoothness=1.0, units=5, dimensions=2, spikes=2, samples_per_class=20, seed=3),
        "f2ac9cc325203dcc",
    ),
    "yin-yang": (YinYangData(), "9c4c2f9cc1d34094"),
    "yin-yang, validation": (YinYangData(judged_on="validation", bias=False), "0eac48b6c0990f13"),
    "poisson": (PoissonData(), "bd1a96e4c2a9d4d6"),
    "delayed recall": (DelayedRecallData(samples_per_class=40, classes=3), "f82fc8c649b7ef79"),
    "frozen noise": (FrozenNoiseData(), "f4e3e94467d522d0"),
}


@pytest.mark.old_python
@pytest.mark.parametrize("name", DIGESTS)
def test_is_the_same_on_every_machine_and_numpy(name: str) -> None:
    data, expected = DIGESTS[name]
    assert digest(loaded(data)) == expected


@pytest.mark.parametrize(
    ("data", "at_once"),
    [
        (DigitsData(samples=50, encoding=RateCode()), (digits, "SAMPLES_AT_ONCE", 20)),
        (
            FrozenNoiseData(channels=9, templates=3, samples_per_class=8),
            (frozen_noise, "SPIKES_AT_ONCE", 30),
        ),
    ],
)
def test_is_the_same_in_pieces_each_of_which_is_reported(
    data: Data, at_once: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = digest(loaded(data))
    monkeypatch.setattr(*at_once)
    reported = []
    pieces = load(data, DataDirectory(None), lambda *done: reported.append(done))
    assert digest(pieces) == whole
    samples = len(pieces.labels)
    assert 2 < len(reported) < samples
    assert reported == sorted(reported)
    assert reported[-1] == (samples, samples)


@pytest.mark.parametrize(
    "data",
    [
        RandmanData(samples_per_class=20),
        PoissonData(samples_per_class=20),
        FrozenNoiseData(samples_per_class=20),
    ],
)
def test_another_seed_is_another_data_set(data: Any) -> None:
    assert digest(loaded(data)) != digest(loaded(replace(data, seed=1)))


@pytest.mark.parametrize(
    "data",
    [
        RandmanData(classes=3, samples_per_class=10),
        PoissonData(samples_per_class=10, classes=3),
        FrozenNoiseData(samples_per_class=10, classes=3),
    ],
)
def test_has_the_specified_samples_and_holds_out_a_fifth_of_each_class(data: Any) -> None:
    dataset = loaded(data)
    assert np.bincount(dataset.labels).tolist() == [10, 10, 10]
    assert np.bincount(dataset.labels[dataset.test]).tolist() == [2, 2, 2]


class TestRandman:
    def test_is_the_sum_of_sines_that_it_is_defined_as(self) -> None:
        """Term by term, with no array in sight."""
        data = RandmanData(units=2, dimensions=2, smoothness=2.0)
        points = np.array([[0.25, 0.5], [0.75, 1.0]])
        drawn = stream(Purpose.DATA, 5, 0).random_sample((2, 2, 32, 3))
        for unit in range(2):
            for point, actual in zip(points, randman.manifold(points, data, (5, 0))[:, unit]):
                product = 1.0
                for dimension in range(2):
                    product *= sum(
                        drawn[unit, dimension, i, 0]
                        * (i + 1) ** -2.0
                        * math.sin(
                            2
                            * math.pi
                            * (
                                i * point[dimension] * drawn[unit, dimension, i, 1]
                                + drawn[unit, dimension, i, 2]
                            )
                        )
                        for i in range(1, 32)  # the amplitude of i = 0 is 0
                    )
                assert actual == pytest.approx(product, rel=1e-12)

    @pytest.mark.parametrize(("smoothness", "terms"), [(2.0, 32), (1.0, 1000), (0.5, 1000)])
    def test_has_as_many_frequencies_as_count(self, smoothness: float, terms: int) -> None:
        assert frequencies(RandmanData(smoothness=smoothness)) == terms

    def test_every_unit_spikes_once_in_every_sample(self) -> None:
        """So a rate says nothing about the class."""
        dataset = loaded(RandmanData(samples_per_class=20))
        assert (dense(dataset, np.arange(200)).sum(axis=0) == 1).all()

    def test_the_times_of_a_unit_fill_the_used_steps(self) -> None:
        data = RandmanData(classes=2, units=6, samples_per_class=50, used_steps=0.5)
        spikes = dense(loaded(data), np.arange(50))  # the samples of the first class
        for unit in range(6):
            step = np.nonzero(spikes[:, :, unit].any(axis=1))[0]
            assert (step.min(), step.max()) == (0, 24)


class TestDelayedRecall:
    def test_the_class_is_the_sum_of_the_cues(self) -> None:
        data = DelayedRecallData(classes=3, units=5, samples_per_class=30, rate=0.5, noise=0.0)
        dataset = loaded(data)
        spikes = dense(dataset, np.arange(90)).reshape(160, 90, 3, 5).sum(axis=3)
        first, pause, last = spikes[:20].sum(axis=0), spikes[20:140], spikes[140:].sum(axis=0)
        assert not pause.any()
        assert np.all((first > 0).sum(axis=1) == 1)
        assert np.all((last > 0).sum(axis=1) == 1)
        cues = first.argmax(axis=1)
        np.testing.assert_array_equal((cues + last.argmax(axis=1)) % 3, dataset.labels)
        for label in range(3):  # no cue alone decides the class
            assert set(cues[dataset.labels == label]) == {0, 1, 2}
