"""Where results lie: one JSON file per question, a row per answer, rewritten after each of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine
from ipulse_ops.lif.cpu import libraries

DIRECTORY = Path(__file__).resolve().parent / "results"
Row = dict[str, Any]


def kernels_digest() -> str:
    """Of the sources of our kernels: figures of others are measured again."""
    digest = hashlib.sha256()
    for path in sorted(libraries.SOURCES.rglob("*")):
        if path.suffix in (".cc", ".h", ".inc"):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


class Results:
    """The rows of one file. A row is known by some of its fields, the keys.

    settings: what the figures depend on besides; rows with other settings count as not measured.
    """

    def __init__(self, name: str, keys: Sequence[str], settings: Row, directory: Path) -> None:
        self._path = directory / f"{name}.json"
        self._keys = tuple(keys)
        self._settings = {**settings, "kernels": kernels_digest()}
        self._rows = read(name, directory)["rows"] if self._path.exists() else []

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def has(self, **keys: Any) -> bool:
        """Whether that row was measured with these settings."""
        return any(
            self._key(row) == self._key(keys) and row["settings"] == self._settings
            for row in self._rows
        )

    def put(self, row: Row) -> None:
        """Adds a row, or replaces the one with its keys, and writes the file."""
        self._rows = [one for one in self._rows if self._key(one) != self._key(row)]
        self._rows.append({**row, "settings": self._settings})
        self._rows.sort(key=lambda one: [str(value) for value in self._key(one)])
        self._path.parent.mkdir(parents=True, exist_ok=True)
        half = self._path.with_suffix(".part")
        content = {"machine": machine.description(), "rows": self._rows}
        half.write_text(json.dumps(rounded(content), indent=1) + "\n")
        os.replace(half, self._path)

    def _key(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[key] for key in self._keys)


def read(name: str, directory: Path = DIRECTORY) -> Row:
    """The content of a file: {"machine", "rows"}."""
    content: Row = json.loads((directory / f"{name}.json").read_text("utf-8"))
    return content


def rounded(value: Any) -> Any:
    """Floats to five digits: more would claim what no clock here can tell."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return value
