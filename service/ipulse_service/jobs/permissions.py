"""What a caller may do with a job, as far as its rights go; states are not looked at."""

from __future__ import annotations

from typing import Literal

from ipulse_service.db.access import Access, Action
from ipulse_service.jobs.job import JobRow

JobAction = Literal["change", "retry", "continue"]


def allowed(access: Access, job: JobRow) -> list[JobAction]:
    """Returns the names of what a caller may do with a job that it sees."""
    has_code = job.needs.has_code
    found: list[JobAction] = []
    if access.may_change(job.project, job.owner):
        found.append("change")
        if not has_code or access.decide(Action.SUBMIT_CODE, job.project):
            found.append("retry")
    if access.submits_code if has_code else access.submits:
        found.append("continue")
    return found


def entity_tag(access: Access, job: JobRow) -> str:
    """Returns the content of a job's ETag for a caller, new with its version or their rights."""
    return ".".join([job.tag, *allowed(access, job)])
