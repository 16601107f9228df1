"""Changes of many jobs at once: which jobs, and what was done."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from ipulse.times import sent_text, time_of, zone_parameter
from ipulse_core.errors import InvalidInput, Problem

# Changes of many jobs, by their names in the HTTP interface.
BatchVerb = Literal["cancel", "delete", "finish", "pause", "resume", "retry"]

_LISTED = 20  # known names in a message


@dataclass(frozen=True)
class JobSearch:
    """A query in the search language, an order, and columns to return in `job.json["values"]`."""

    query: str = ""
    sort: str = ""  # columns with commas, each with `-` for descending order
    columns: Sequence[str] = ()
    count: bool = False  # return the number of all matches
    waiting_on: bool = False  # return what each job waits for

    def parameters(self) -> dict[str, Any]:
        """Return the query parameters."""
        given = {"q": self.query, "sort": self.sort, "columns": ",".join(self.columns)}
        return {
            **{name: text for name, text in given.items() if text},
            **({"count": "true"} if self.count else {}),
            **({"waiting_on": "true"} if self.waiting_on else {}),
            **zone_parameter(self.query),
        }


def unknown_names(kind: str, unknown: Sequence[str], known: Sequence[str]) -> InvalidInput:
    """Return the error about names that no job has, with similar or with known names.

    `kind` says what they are, such as "field, setting or metric". Known names are listed where no
    similar one is.
    """
    problems = []
    is_known = True  # what was meant
    for name in unknown:
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.7)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        is_known = is_known and bool(near)
        detail = f"no job has a {kind} `{name}`{hint}"
        problems.append(Problem("/NAMES", "unknown_name", detail))
    listed = ", ".join(known[:_LISTED]) + (", ..." if len(known) > _LISTED else "")
    return InvalidInput(problems, "unknown names" + ("" if is_known else f"; known are: {listed}"))


@dataclass(frozen=True)
class JobSelection:
    """Filters of jobs: a job is selected if it passes all of them.

    Without a filter no job is selected, unless `every` is true.
    """

    states: Sequence[str] = ()
    devices: Sequence[str] = ()
    labels: Sequence[str] = ()  # NAME=VALUE of the spec's metadata
    fields: Sequence[str] = ()  # POINTER=VALUE of the spec
    created_after: datetime | None = None
    created_before: datetime | None = None
    every: bool = False
    query: str = ""  # in the search language

    def parameters(self) -> dict[str, Any]:
        """Return the query parameters; times without a time zone are local."""
        lists = {
            "state": self.states,
            "device": self.devices,
            "label": self.labels,
            "field": self.fields,
        }
        times = {"created_after": self.created_after, "created_before": self.created_before}
        return {
            **{name: list(values) for name, values in lists.items() if values},
            **{name: sent_text(time) for name, time in times.items() if time is not None},
            **({"all": "true"} if self.every else {}),
            **({"q": self.query} if self.query else {}),
            **zone_parameter(self.query),
        }


@dataclass(frozen=True)
class BatchResult:
    """The result of a change of many jobs; a dry run changes none of them."""

    matched: int  # jobs that passed the filters
    by_state: dict[str, int] = field(hash=False)  # these jobs by their state before the change
    changeable: int  # of these, jobs that allow the change
    changed: int  # 0 in a dry run
    unchanged: int  # their state does not allow the change
    remaining: int  # jobs that are still to be changed
    as_of: datetime  # all of these jobs were created before
    json: dict[str, Any] = field(repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> BatchResult:
        """Read the result from a response."""
        return cls(
            matched=value["matched"],
            by_state=value["by_state"],
            # A service of 0.2 says only how many passed the filters.
            changeable=value.get("changeable", value["matched"]),
            changed=value["changed"],
            unchanged=value["unchanged"],
            remaining=value["remaining"],
            as_of=time_of(value["as_of"]),
            json=value,
        )

    @property
    def unchanged_result(self) -> BatchResult:
        """The result of a change that is not made, after its dry run."""
        counts = {"dry_run": False, "unchanged": self.matched, "remaining": 0}
        return BatchResult.from_json({**self.json, **counts})

    def followed_by(self, later: BatchResult) -> BatchResult:
        """Return the result of this request and of a later one for the remaining jobs."""
        changed = self.changed + later.changed
        unchanged = max(0, self.matched - changed - later.remaining)
        counts = {"changed": changed, "unchanged": unchanged, "remaining": later.remaining}
        return BatchResult.from_json({**self.json, **counts})
