"""The records of the runners themselves, independently of the database."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ExecutionSpan:
    """The first and last record of an attempt's process, on the monotonic clock."""

    attempt: int
    first: float
    last: float


class ExecutionLog:
    """The file to which all runners of a testbed append."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def spans(self) -> dict[str, list[ExecutionSpan]]:
        """Returns the spans by job, in the order of the attempts."""
        seen: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for line in self._lines():
            if line["what"] != "orphan":
                seen[line["job"]][line["attempt"]].append(line["at"])
        return {
            job: [
                ExecutionSpan(number, min(times), max(times))
                for number, times in sorted(tries.items())
            ]
            for job, tries in seen.items()
        }

    def orphans(self, job_id: str) -> list[int]:
        """Returns the ids of the processes that a job started on purpose and left."""
        return [
            line["pid"]
            for line in self._lines()
            if line["what"] == "orphan" and line["job"] == job_id
        ]

    def _lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        # A killed process may leave an incomplete line.
        text = self.path.read_text().splitlines()
        return [json.loads(line) for line in text if line.endswith("}")]
