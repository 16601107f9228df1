"""What the runners themselves say they did, apart from every database."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Span:
    """The first and the last sign of one attempt's process, on the machine's monotonic clock."""

    attempt: int
    first: float
    last: float


class ExecutionLog:
    """The file that all runners of a testbed append to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def spans(self) -> dict[str, list[Span]]:
        """By job, in the order of the attempts."""
        seen: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for line in self._lines():
            if line["what"] != "orphan":
                seen[line["job"]][line["attempt"]].append(line["at"])
        return {
            job: [Span(number, min(times), max(times)) for number, times in sorted(tries.items())]
            for job, tries in seen.items()
        }

    def orphans(self, job_id: str) -> list[int]:
        """Ids of the processes that a job left behind on purpose."""
        return [
            line["pid"]
            for line in self._lines()
            if line["what"] == "orphan" and line["job"] == job_id
        ]

    def _lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        # A process that was killed may have left half a line.
        text = self.path.read_text().splitlines()
        return [json.loads(line) for line in text if line.endswith("}")]
