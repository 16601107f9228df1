"""Mean, deviation and interval of replicas, against NumPy and printed tables."""

from __future__ import annotations

import numpy as np
import pytest

from ipulse_service.jobs.search.spread import Spread, student_t


@pytest.mark.parametrize("seed", range(5))
def test_n19_mean_and_deviation_equal_numpy(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = generator.normal(0.9, 0.05, generator.integers(2, 30)).tolist()
    spread = Spread.of(values)
    assert spread is not None
    assert spread.mean == pytest.approx(np.mean(values))
    assert spread.deviation == pytest.approx(np.std(values, ddof=1))
    assert (spread.minimum, spread.maximum) == (min(values), max(values))


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [
        (1, 12.706205),
        (2, 4.302653),
        (3, 3.182446),
        (9, 2.262157),
        (10, 2.228139),
        (30, 2.042272),
        (99, 1.984217),
        (999, 1.962341),
    ],
)
def test_quantiles_are_those_of_printed_tables(freedom: int, quantile: float) -> None:
    assert student_t(freedom) == pytest.approx(quantile, abs=2e-6)


def test_one_value_has_no_spread() -> None:
    spread = Spread.of([0.5])
    assert spread is not None
    assert (spread.n, spread.mean, spread.deviation, spread.interval) == (1, 0.5, None, None)
    assert Spread.of([]) is None
