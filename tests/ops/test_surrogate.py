"""The surrogates' values, and what they refuse."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest

from ipulse_ops.surrogate import (
    SURROGATES,
    ArcTan,
    Boxcar,
    Exponential,
    SuperSpike,
    Surrogate,
    Table,
)

X = np.array([-2.0, -0.5, -0.25, 0.0, 0.25, 0.5, 2.0])


class TestValues:
    @pytest.mark.parametrize(
        ("surrogate", "expected"),
        [
            (SuperSpike(slope=4.0), [1 / 81, 1 / 9, 1 / 4, 1, 1 / 4, 1 / 9, 1 / 81]),
            (ArcTan(slope=4.0), [1 / 65, 1 / 5, 1 / 2, 1, 1 / 2, 1 / 5, 1 / 65]),
            (Boxcar(half_width=0.5), [0, 0, 1, 1, 1, 0, 0]),
            (
                Exponential(slope=2.0),
                [np.exp(-4), np.exp(-1), np.exp(-0.5), 1, np.exp(-0.5), np.exp(-1), np.exp(-4)],
            ),
            # Knots at -1, 0 and 1.
            (Table(values=(0.0, 1.0, 0.5), width=1.0), [0, 0.5, 0.75, 1, 0.875, 0.75, 0]),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_are_the_formulas(self, surrogate: Surrogate, expected: Any) -> None:
        np.testing.assert_allclose(surrogate.phi(X), expected, rtol=1e-15)

    @pytest.mark.parametrize(
        ("surrogate", "sigmoid"),
        [
            (SuperSpike(slope=3.0), lambda x: x / (3 * np.abs(x) + 1)),
            (ArcTan(slope=3.0), lambda x: np.arctan(3 * x) / 3),
        ],
    )
    def test_are_the_derivatives_of_their_sigmoids(
        self, surrogate: Surrogate, sigmoid: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        x = np.linspace(-2, 2, 40)
        quotient = (sigmoid(x + 1e-6) - sigmoid(x - 1e-6)) / 2e-6
        np.testing.assert_allclose(surrogate.phi(x), quotient, atol=1e-8)


class TestTable:
    table = Table(values=(0.25, 2.0, -1.0, 0.5), width=1.5)

    def test_is_its_values_at_the_knots(self) -> None:
        assert self.table.phi(np.array([-1.5, -0.5, 0.5, 1.5])).tolist() == [0.25, 2, -1, 0.5]

    def test_is_straight_between_them(self) -> None:
        x = np.linspace(-1.5, 1.5, 61)
        expected = np.interp(x, [-1.5, -0.5, 0.5, 1.5], self.table.values)
        np.testing.assert_allclose(self.table.phi(x), expected, rtol=0, atol=1e-14)

    def test_is_zero_beyond_its_width_however_far(self) -> None:
        x = np.array([-1.6, 1.6, -1e300, 1e300, np.inf, -np.inf])
        assert not self.table.phi(x).any()

    def test_takes_a_list_as_json_has_it(self) -> None:
        values: Any = [0, 1, 0]
        assert Table(values=values, width=1.0) == Table(values=(0.0, 1.0, 0.0), width=1.0)
        assert hash(Table(values=values, width=1.0))


class TestNames:
    def test_name_every_surrogate(self) -> None:
        assert set(SURROGATES) == {"superspike", "arctan", "boxcar", "exponential", "table"}
        assert SURROGATES["arctan"](slope=2.0) == ArcTan(slope=2.0)


class TestRefusals:
    @pytest.mark.parametrize("kind", [SuperSpike, ArcTan, Exponential])
    @pytest.mark.parametrize("slope", [0.0, -1.0, np.nan, np.inf])
    def test_slope_that_is_not_positive(self, kind: Any, slope: float) -> None:
        with pytest.raises(ValueError, match="slope must be greater than 0"):
            kind(slope=slope)

    def test_boxcar_without_a_width(self) -> None:
        with pytest.raises(ValueError, match="half_width must be greater than 0; got 0"):
            Boxcar(half_width=0)

    @pytest.mark.parametrize(
        ("values", "width", "message"),
        [
            ((1.0,), 1.0, "values must be at least 2; got 1"),
            ((1.0, np.nan), 1.0, "values must be finite"),
            (((1.0, 0.0),), 1.0, "values must be a list of numbers; got"),
            ((1.0, 0.0), "1", "width must be greater than 0; got '1'"),
            ((1.0, 0.0), 0.0, "width must be greater than 0; got 0"),
        ],
    )
    def test_table_that_is_none(self, values: Any, width: float, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Table(values=values, width=width)
