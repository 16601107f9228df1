"""Which metrics should fall."""

from __future__ import annotations

import pytest

from ipulse_core.metric_names import smaller_is_better


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
