"""The sets that are generated: their definitions, and that they are the same everywhere."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.spec.derived_values import frequencies
from ipulse_worker.runner.data import Dataset, digits, frozen_noise, poisson, randman, yin_yang
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.training.randomness import Purpose, stream
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


class TestYinYang:
    @pytest.mark.parametrize(
        ("x", "y", "expected"),
        [
            (0.75, 0.5, yin_yang.DOTS),
            (0.25, 0.59, yin_yang.DOTS),
            (0.5, 0.9, yin_yang.YIN),
            (0.5, 0.1, yin_yang.YANG),
            (0.25, 0.35, yin_yang.YIN),  # the head around the left dot
            (0.75, 0.65, yin_yang.YANG),  # the head around the right dot
            (0.45, 0.48, yin_yang.YIN),
            (0.55, 0.52, yin_yang.YANG),
        ],
    )
    def test_classes_match_the_yin_yang_symbol(self, x: float, y: float, expected: int) -> None:
        assert yin_yang.class_of(x, y) == expected

    def test_draws_in_the_order_that_defines_it(self) -> None:
        """Compares with all draws of seed 42 up to the third sample, made one by one."""
        random = np.random.RandomState(42)
        features, classes = yin_yang.points(3, 42)
        for sample in range(3):
            assert classes[sample] == random.randint(3)
            for _ in range(1000):
                x, y = random.rand(2)
                in_sign = (x - 0.5) ** 2 + (y - 0.5) ** 2 <= 0.25
                if in_sign and yin_yang.class_of(x, y) == classes[sample]:
                    break
            assert features[sample].tolist() == [x, y, 1 - x, 1 - y]

    def test_has_the_published_sizes_and_balanced_classes(self) -> None:
        dataset = loaded(YinYangData())
        assert (len(dataset.training), len(dataset.test)) == (5000, 1000)
        assert np.abs(np.bincount(dataset.labels[:5000]) / 5000 - 1 / 3).max() < 0.03

    def test_a_value_spikes_the_later_the_larger_it_is(self) -> None:
        data = YinYangData(first_ms=2.0, span_ms=30.0)
        dataset = loaded(data)
        features, _ = yin_yang.points(5, 42)
        spikes = dense(dataset, np.arange(5))
        for sample in range(5):
            expected = np.floor(2.0 + 30.0 * features[sample]).astype(int).tolist()
            actual = [int(np.flatnonzero(spikes[:, sample, channel])[0]) for channel in range(5)]
            assert actual == [*expected, 2]  # the bias last

    def test_held_out_sets_differ(self) -> None:
        test, validation = (
            loaded(YinYangData(judged_on=part))  # type: ignore[arg-type] # both are choices
            for part in ("test", "validation")
        )
        assert (dense(test, test.test) != dense(validation, test.test)).any()
        assert (dense(test, test.training) == dense(validation, test.training)).all()


class TestPoisson:
    def test_rates_are_those_of_the_class(self) -> None:
        """32,000 draws of the high rate, 96,000 of the low: six standard deviations."""
        data = PoissonData(samples_per_class=125)
        rates = dense(loaded(data), np.arange(125)).mean(axis=(0, 1))
        assert rates[:16].mean() == pytest.approx(0.5, abs=0.017)
        assert rates[16:].mean() == pytest.approx(0.05, abs=0.005)

    def test_cuts_channels_into_groups_of_neighbours(self) -> None:
        data = PoissonData(classes=3, channels=7, high_rate=1.0, low_rate=0.0)
        groups = [np.flatnonzero(poisson.rates(data, label)).tolist() for label in range(3)]
        assert groups == [[0, 1, 2], [3, 4], [5, 6]]


class TestFrozenNoise:
    def test_without_jitter_is_its_templates(self) -> None:
        data = FrozenNoiseData(jitter_ms=0.0, templates=2, samples_per_class=4)
        spikes = dense(loaded(data), np.arange(8))
        for first in (0, 1, 4, 5):
            np.testing.assert_array_equal(spikes[:, first], spikes[:, first + 2])
        assert (spikes[:, 0] != spikes[:, 1]).any()
        assert (spikes[:, 0] != spikes[:, 4]).any()

    def test_templates_have_the_rate(self) -> None:
        """1,000 s of one channel at 5 Hz: 5,000 spikes, plus or minus 71."""
        data = FrozenNoiseData(rate_hz=5.0, steps=10_000, channels=100)
        step, _ = frozen_noise.template(data, 0, 0)
        assert len(step) == pytest.approx(5000, abs=5 * 71)

    def test_jitter_moves_spikes_by_its_standard_deviation(self) -> None:
        data = FrozenNoiseData(
            channels=1000, rate_hz=10.0, steps=101, jitter_ms=3.0, samples_per_class=2
        )
        _, channel = frozen_noise.template(data, 0, 0)
        once = np.flatnonzero(np.bincount(channel, minlength=1000) == 1)
        still = dense(loaded(replace(data, jitter_ms=0.0)), [0])[:, 0, once]
        moved = dense(loaded(data), [0])[:, 0, once]
        stayed = moved.any(axis=0) & (np.abs(still.argmax(axis=0) - 50) < 30)
        shift = (moved.argmax(axis=0) - still.argmax(axis=0))[stayed]
        assert shift.std() == pytest.approx(3.0, rel=0.25)
        assert abs(shift.mean()) < 0.6
