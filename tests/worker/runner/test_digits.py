from __future__ import annotations

import builtins
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ipulse.spec import DigitsData
from worker.runner import digits
from worker.runner.data import DataUnavailable


class TestSpikeSteps:
    def test_is_the_charging_time_of_the_formula(self) -> None:
        """t = 20 ms ln(x / (x - 0.2)), worked out by hand for four of the seventeen levels."""
        brightness = np.array([16, 8, 4, 3]) / 16
        by_hand = [
            4,  # ln(1 / 0.8) * 20 = 4.46
            10,  # ln(0.5 / 0.3) * 20 = 10.22
            32,  # ln(0.25 / 0.05) * 20 = 32.19
            -1,  # 0.1875 is below the threshold
        ]
        assert digits.spike_steps(brightness, DigitsData()).tolist() == by_hand

    def test_leaves_a_pixel_silent_that_is_just_at_the_threshold(self) -> None:
        data = replace(DigitsData(), threshold=0.25, steps=10_000)
        assert digits.spike_steps(np.array([0.25]), data).tolist() == [-1]

    def test_counts_steps_of_the_given_width(self) -> None:
        data = replace(DigitsData(), step_ms=2.5, steps=20)
        assert digits.spike_steps(np.array([0.5]), data).tolist() == [4]  # 10.22 / 2.5

    def test_drops_what_comes_after_the_last_step(self) -> None:
        brightness = np.array([0.5, 0.25])
        assert digits.spike_steps(brightness, DigitsData(steps=11)).tolist() == [10, -1]
        assert digits.spike_steps(brightness, DigitsData(steps=10)).tolist() == [-1, -1]

    def test_leaves_a_pixel_silent_whose_charging_never_ends(self) -> None:
        just_above = np.array([np.nextafter(0.25, 1.0)])
        data = replace(DigitsData(), threshold=0.25, tau_eff_ms=1e6)
        assert digits.spike_steps(just_above, data).tolist() == [-1]


class TestLoad:
    def test_has_every_scan_once(self) -> None:
        dataset = digits.load(DigitsData())
        assert len(dataset.labels) == 1797
        everything = np.sort(np.concatenate([dataset.training, dataset.test]))
        np.testing.assert_array_equal(everything, np.arange(1797))

    def test_spikes_once_per_bright_pixel(self) -> None:
        dataset = digits.load(DigitsData())
        _, counts = dataset.trains.batch(np.arange(1797))
        bright = (dataset.images > 0.2).sum(axis=(1, 2))
        np.testing.assert_array_equal(counts.sum(axis=0), bright)

    def test_holds_out_the_same_stratified_fifth_everywhere(self) -> None:
        """The held-out samples are part of what a test accuracy means, so they are pinned."""
        dataset = digits.load(DigitsData())
        assert len(dataset.test) == 359  # round(1797 / 5)
        shares = np.bincount(dataset.labels[dataset.test]) / np.bincount(dataset.labels)
        assert np.abs(shares - 0.2).max() < 0.005
        assert dataset.test[:8].tolist() == [0, 3, 5, 8, 20, 23, 24, 30]
        other = digits.load(DigitsData(split_seed=1))
        assert set(other.test) != set(dataset.test)

    def test_draws_few_samples_and_still_tests_some(self) -> None:
        dataset = digits.load(DigitsData(samples=50, test_fraction=0.05))
        assert len(dataset.labels) == 50
        assert len(dataset.test) == 2

    def test_says_the_cure_where_scikit_learn_is_missing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real_import = builtins.__import__

        def without_sklearn(name: str, *rest: Any, **more: Any) -> Any:
            if name.startswith("sklearn"):
                raise ImportError("No module named 'sklearn'")
            return real_import(name, *rest, **more)

        monkeypatch.setattr(builtins, "__import__", without_sklearn)
        with pytest.raises(DataUnavailable, match="pip install scikit-learn"):
            digits.load(DigitsData())
