"""The marks that jobs have left: see `benchmarks.load.payload`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mark:
    word: str
    seconds: float
    pid: int


def marks(path: Path) -> dict[str, list[Mark]]:
    """By tag, in the order in which they were made."""
    found: dict[str, list[Mark]] = defaultdict(list)
    if path.exists():
        for line in path.read_text().splitlines():
            tag, word, seconds, pid = line.split()
            found[tag].append(Mark(word, float(seconds), int(pid)))
    return found
