"""Names of metrics in other tools: train/loss and test/accuracy."""

from __future__ import annotations

from collections.abc import Iterator

from .record import MetricPoint


def named_values(point: MetricPoint) -> Iterator[tuple[str, float]]:
    """Yield the metrics of a point with the split that they describe: train, test or batch."""
    for name, value in point.values.items():
        if point.scope == "step":
            yield f"batch/{name}", value
        elif name.startswith("test_"):
            yield f"test/{name.removeprefix('test_')}", value
        else:
            yield f"train/{name}", value
