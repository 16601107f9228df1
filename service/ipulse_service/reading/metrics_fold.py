"""The rows of the index of metrics, folded from epochs: without the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ipulse_service.reading.limits import MAX_METRICS, MAX_NAME

# No results of the training; a search for these names means the settings.
LEFT_OUT = frozenset({"epochs", "learning_rate", "run_seconds", "seconds", "steps"})

Row = dict[str, Any]


def fold(rows: dict[str, Row], epoch: int, values: Mapping[str, float]) -> None:
    """Adds the metrics of an epoch to rows by name; until the end, the last epoch is kept."""
    for name, value in values.items():
        if name in LEFT_OUT or len(name) > MAX_NAME:
            continue
        row = rows.get(name)
        if row is None:
            if len(rows) >= MAX_METRICS:
                continue
            rows[name] = {
                **dict.fromkeys(("kept", "smallest", "largest", "last"), value),
                **dict.fromkeys(("smallest_epoch", "largest_epoch", "last_epoch"), epoch),
            }
            continue
        row.update(kept=value, last=value, last_epoch=epoch)
        if value < row["smallest"]:
            row.update(smallest=value, smallest_epoch=epoch)
        if value > row["largest"]:
            row.update(largest=value, largest_epoch=epoch)


def keep(rows: dict[str, Row], summary: Mapping[str, float], kept: Mapping[str, float]) -> None:
    """Sets the values of the kept epoch: those of the summary, else those of its event."""
    for name, value in {**kept, **summary}.items():
        if name in rows:
            rows[name]["kept"] = value
        else:
            fold(rows, int(summary.get("kept_epoch", 0)), {name: value})
