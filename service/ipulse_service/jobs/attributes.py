"""Attributes that users give to jobs: name, tags, group, notes and priority."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.limits import MAX_TAGS
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import attempts, store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.job_attributes import tags_text


@dataclass(frozen=True)
class AttributeChange:
    """Changes of a job's attributes; None leaves an attribute as it is."""

    name: str | None = None
    notes: str | None = None
    group: str | None = None  # empty: no group
    tags: tuple[str, ...] | None = None  # replace all tags
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    priority: int | None = None

    def tags_after(self, before: Iterable[str]) -> list[str]:
        """Returns the sorted tags of a job that had these. Raises InvalidInput for too many."""
        kept = set(before if self.tags is None else self.tags) - set(self.remove_tags)
        after = sorted(kept | set(self.add_tags))
        if len(after) > MAX_TAGS:
            detail = f"a job has at most {MAX_TAGS} tags; it would have {len(after)}"
            raise InvalidInput([Problem("/add_tags", "wrong_length", detail)])
        return after


def change(
    transaction: Transaction, job: JobRow, changes: AttributeChange, changed_by: str
) -> JobRow:
    """Changes attributes of a locked job; its log says who changed the priority.

    Raises InvalidInput for too many tags, and IllegalTransition for the priority of a job that has
    ended.
    """
    columns: dict[str, Any] = {}
    if changes.name is not None:
        columns["name"] = changes.name
    if changes.notes is not None:
        columns["notes"] = changes.notes
    if changes.group is not None:
        columns["group_name"] = changes.group or None
    columns["tags"] = tags_text(changes.tags_after(json.loads(job.tags)))
    if changes.priority is not None:
        job = attempts.change_priority(transaction, job, changes.priority, changed_by)
    changed = job._replace(**columns)
    if changed == job:
        return job
    names = ", ".join(sorted(name for name in columns if columns[name] != getattr(job, name)))
    transaction.audit("job.edit", job.id, job.project, names)
    return store.update(transaction, job, changed)
