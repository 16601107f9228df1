"""The service, the client and the page agree on which metrics should fall."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ipulse_core import metric_names
from ipulse_core.metric_names import smaller_is_better

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("test_loss", True),
        ("rate_penalty", True),
        ("layer_1_dropped", True),
        ("test_accuracy", False),
        ("firing_rate", False),
    ],
)
def test_losses_and_dropped_spikes_should_fall(metric: str, expected: bool) -> None:
    assert smaller_is_better(metric) is expected


def test_the_page_marks_the_same_metrics() -> None:
    views = ROOT / "service/ipulse_service/http/web/static/views"
    script = (views / "compare/differences.js").read_text("utf-8")
    words = re.search(r"SMALL_IS_GOOD = /([a-z|]+)/", script)
    assert words is not None
    assert set(words[1].split("|")) == set(metric_names.SMALLER_IS_BETTER)
