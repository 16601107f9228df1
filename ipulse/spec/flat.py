"""The settings of a spec as one flat table, by their paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Setting = str | int | float | bool | None


def flat_settings(document: Any) -> dict[str, Setting]:
    """Returns every scalar by its path, such as training.epochs; a list of numbers is one text."""
    return dict(_flat(document, ""))


def _flat(value: Any, path: str) -> Iterator[tuple[str, Setting]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _flat(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and any(isinstance(item, (Mapping, list)) for item in value):
        for index, item in enumerate(value):
            yield from _flat(item, f"{path}.{index}")
    elif isinstance(value, list):
        yield path, " ".join(str(item) for item in value)
    else:
        yield path, value
