"""Names of metrics in other tools: train/loss, validation/loss and test/accuracy."""

from __future__ import annotations

from collections.abc import Iterator

from .record import MetricPoint


def named_values(point: MetricPoint) -> Iterator[tuple[str, float]]:
    """Yield the metrics of a point with what they describe: train, validation, test or batch."""
    for name, value in point.values.items():
        part, _, figure = name.partition("_")
        if point.scope == "step":
            yield f"batch/{name}", value
        elif part in ("test", "validation"):
            yield f"{part}/{figure}", value
        else:
            yield f"train/{name}", value
