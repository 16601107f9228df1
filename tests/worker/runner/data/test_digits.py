from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

from ipulse_worker.runner.data import DataUnavailable, digits
from tests.worker.runner.specs import DigitsData

from .loaded import loaded


class TestLoad:
    def test_has_every_scan_once(self) -> None:
        dataset = loaded(DigitsData())
        assert len(dataset.labels) == 1797
        everything = np.sort(np.concatenate([dataset.training, dataset.test]))
        np.testing.assert_array_equal(everything, np.arange(1797))

    def test_spikes_once_per_bright_pixel(self) -> None:
        dataset = loaded(DigitsData())
        _, counts = dataset.trains.batch(np.arange(1797))
        assert dataset.images is not None
        bright = (dataset.images > 0.2).sum(axis=(1, 2))
        np.testing.assert_array_equal(counts.sum(axis=0), bright)

    @pytest.mark.old_python
    def test_holds_out_the_same_stratified_fifth_everywhere(self) -> None:
        """The held-out samples are part of what a test accuracy means, so they are pinned."""
        dataset = loaded(DigitsData())
        assert len(dataset.test) == 359  # round(1797 / 5)
        shares = np.bincount(dataset.labels[dataset.test]) / np.bincount(dataset.labels)
        assert np.abs(shares - 0.2).max() < 0.005
        assert dataset.test[:8].tolist() == [0, 3, 5, 8, 20, 23, 24, 30]
        other = loaded(DigitsData(split_seed=1))
        assert set(other.test) != set(dataset.test)

    def test_draws_few_samples_and_still_tests_some(self) -> None:
        dataset = loaded(DigitsData(samples=50, test_fraction=0.05))
        assert len(dataset.labels) == 50
        assert len(dataset.test) == 2

    def test_gives_a_hint_if_scikit_learn_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real_import = builtins.__import__

        def without_sklearn(name: str, *rest: Any, **more: Any) -> Any:
            if name.startswith("sklearn"):
                raise ImportError("No module named 'sklearn'")
            return real_import(name, *rest, **more)

        digits.scans.cache_clear()
        monkeypatch.setattr(builtins, "__import__", without_sklearn)
        with pytest.raises(DataUnavailable, match="pip install scikit-learn"):
            loaded(DigitsData())
