"""Attributes of a job at its submission."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ipulse_core import strict_json


@dataclass(frozen=True)
class JobAttributes:
    """Tags, group and notes; they are not a part of the spec."""

    tags: tuple[str, ...] = ()
    group: str | None = None
    notes: str = ""

    def columns(self) -> dict[str, str | None]:
        """Returns the values of the columns of a job's row."""
        return {"tags": tags_text(self.tags), "group_name": self.group, "notes": self.notes}


def tags_text(tags: Iterable[str]) -> str:
    """Returns tags as they are stored: a sorted JSON array without repetitions."""
    return strict_json.dumps(sorted(set(tags)))
