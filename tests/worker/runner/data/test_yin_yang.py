"""The generated data sets yin-yang, Poisson and frozen noise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ipulse_worker.runner.data import frozen_noise, poisson, yin_yang
from tests.worker.runner.specs import (
    FrozenNoiseData,
    PoissonData,
    YinYangData,
)

from .loaded import loaded

if TYPE_CHECKING:
    pass
from tests.worker.runner.data.test_generated import dense


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
