from __future__ import annotations

from typing import List

import pytest

from ipulse_worker.runner.report.plots.axes import Axes, nice_ceiling, nice_ticks, whole_ticks
from ipulse_worker.runner.report.plots.svg import plot
from tests.worker.runner.report.page import Page


class TestTicks:
    @pytest.mark.parametrize(
        ("low", "high", "count", "ticks"),
        [
            (0.0, 1.0, 6, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
            (10.0, 100.0, 5, [20, 40, 60, 80, 100]),
            (0.0, 0.03, 4, [0.0, 0.01, 0.02, 0.03]),
            (-1.0, 1.0, 5, [-1.0, -0.5, 0.0, 0.5, 1.0]),
        ],
    )
    def test_are_round_and_within(
        self, low: float, high: float, count: int, ticks: List[float]
    ) -> None:
        assert nice_ticks(low, high, count) == ticks

    def test_of_something_counted_are_whole(self) -> None:
        assert whole_ticks(1, 3) == [1, 2, 3]
        assert whole_ticks(0.5, 1.5) == [1]
        assert all(float(tick).is_integer() for tick in whole_ticks(1, 30))

    @pytest.mark.parametrize("value", [1e-9, 0.0299, 0.7, 1.0, 7.3, 123.0, 9.99e6])
    def test_ceiling_is_round_and_not_far_above(self, value: float) -> None:
        ceiling = nice_ceiling(value)
        assert value <= ceiling * (1 + 1e-9) <= 1.6 * value

    def test_ceiling_of_nothing_still_gives_an_axis(self) -> None:
        assert nice_ceiling(0.0) == 1.0


class TestAxes:
    def test_texts_are_beside_the_image_and_not_in_it(self) -> None:
        axes = Axes(100, (0, 1e6), (0, 1))
        axes.y_axis("height")
        axes.x_axis("distance")
        axes.line([0, 1e6], [0, 1], "s1")
        page = Page("".join(axes.parts()))
        assert "text" not in page.tags
        assert {"height", "distance", "0.4", "1,000,000"} <= set(page.text["span"])
        assert page.open == []

    def test_escapes_what_it_is_given(self) -> None:
        axes = Axes(100, (0, 1), (0, 1))
        axes.label("<&>")
        image = plot(axes.parts(), "<&>")
        assert "<&>" not in image
        assert image.count("&lt;&amp;&gt;") == 2
