"""The names of metrics in exports."""

from __future__ import annotations

from datetime import datetime, timezone

from ipulse.exports.names import named_values
from ipulse.exports.record import MetricPoint


def test_metrics_are_named_by_the_samples_that_they_describe() -> None:
    values = {"loss": 1.0, "validation_loss": 2.0, "test_accuracy": 0.5}
    named = {"train/loss": 1.0, "validation/loss": 2.0, "test/accuracy": 0.5}
    time = datetime.now(timezone.utc)
    assert dict(named_values(MetricPoint("epoch", 1, 10, time, values))) == named
    batch = {f"batch/{name}": value for name, value in values.items()}
    assert dict(named_values(MetricPoint("step", 1, 10, time, values))) == batch
