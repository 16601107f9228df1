"""The arithmetic of charts, in the browser that draws them."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Page

pytestmark = pytest.mark.browser

SMOOTHED = """
    const done = arguments[1];
    const main = [...document.scripts].find(({ src }) => src.endsWith("app/main.js")).src;
    import(main.replace("app/main.js", "charts/points.js")).then(({ smoothed }) => {
      done(arguments[0].map(([x, y, weight]) => smoothed(x, y, weight)));
    });
"""
STEP_LIKE = """
    const done = arguments[0];
    const main = [...document.scripts].find(({ src }) => src.endsWith("app/main.js")).src;
    import(main.replace("app/main.js", "views/job/series.js")).then(({ isStepLike, kindOf }) => {
      done(["learning_rate", "second_threshold/1", "loss"].map((name) => isStepLike(kindOf(name))));
    });
"""


def test_smoothing_invents_nothing(page: Page) -> None:
    page.open("/new")
    steps = list(range(50))
    curves: list[Any] = [
        [steps, [0.5] * 50, 0.9],  # a constant is that constant, from the first point
        [steps, [None] * 10 + [2.0] * 40, 0.9],
        [steps, [float(step % 2) for step in steps], 0.0],
        [steps, [0.0] * 49 + [1.0], 0.9],
    ]
    constant, late, raw, jump = page.driver.execute_async_script(SMOOTHED, curves)
    assert constant == pytest.approx([0.5] * 50)
    assert late[10:] == pytest.approx([2.0] * 40)
    assert raw == curves[2][1]
    assert jump[:49] == [0.0] * 49
    assert 0 < jump[49] < 1
    assert page.driver.execute_async_script(STEP_LIKE) == [True, True, False]
