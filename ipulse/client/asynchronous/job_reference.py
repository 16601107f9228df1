"""Finds the job that a user means by the beginning of its id, its name, or `latest`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ipulse.client.jobs.failures import LISTED, SeveralJobs
from ipulse.client.jobs.snapshot import JobSnapshot
from ipulse_core import ids
from ipulse_core.errors import NotFound

if TYPE_CHECKING:
    from .connection import AsyncConnection


SHORTEST = 4  # digits of a shortened id
MOST_BACK = 100_000  # jobs that latest~N may pass over

_LONGEST_NAME = 128
_SHORTENED = re.compile(rf"(?:job_)?([0-9a-f]{{1,{ids.DIGITS}}})")
_LATEST = re.compile(r"latest(?:~([0-9]{1,6}))?")


async def find_job(connection: AsyncConnection, reference: str) -> str:
    """Return the full id of the job that a reference means; see AsyncConnection.job."""
    latest = _LATEST.fullmatch(reference)
    if latest:
        return await _latest(connection, reference, int(latest[1] or 0))
    shortened = _SHORTENED.fullmatch(reference)
    if not shortened:
        return await _named(connection, reference) or reference
    if ids.is_id(ids.JOB, reference):
        return reference
    digits = shortened[1]
    if len(digits) < SHORTEST:
        named = await _named(connection, reference)
        if named:
            return named
        raise NotFound(f"{reference!r} is too short: give {SHORTEST} or more characters of an id")
    found = [job async for job in connection.jobs(page_size=LISTED + 1, id_prefix=f"job_{digits}")]
    if not found:
        named = await _named(connection, reference)
        if named:
            return named
        raise NotFound(f"there is no job whose id begins with job_{digits}")
    if len(found) > 1:
        raise NotFound(_ambiguous(f"several jobs have ids that begin with job_{digits}:", found))
    return found[0].id


async def _named(connection: AsyncConnection, name: str) -> str | None:
    """Return the id of the only job of this name, None without one. Raises SeveralJobs."""
    if not name.isprintable() or '"' in name or len(name) > _LONGEST_NAME:
        return None
    found = []
    async for job in connection.jobs(f'name:"{name}"', page_size=LISTED + 1):
        if job.name == name:  # the query does not distinguish small and capital letters
            found.append(job)
        if len(found) > LISTED:
            break
    if len(found) > 1:
        raise SeveralJobs(
            _ambiguous(f"several jobs have the name {name!r}:", found),
            [job.status for job in found],
        )
    return found[0].id if found else None


async def _latest(connection: AsyncConnection, reference: str, back: int) -> str:
    if back > MOST_BACK:
        raise NotFound(f"{reference!r} is too far back: at most latest~{MOST_BACK}")
    left = back
    async for job in connection.jobs(page_size=min(back + 1, 500)):
        if not left:
            return job.id
        left -= 1
    raise NotFound("there are no jobs" if not back else f"there are {back} jobs or fewer")


def _ambiguous(head: str, found: Sequence[JobSnapshot]) -> str:
    lines = [f"  {job.id}  {job.state.value}  {job.name}" for job in found[:LISTED]]
    if len(found) > LISTED:
        lines.append("  ...")
    return "\n".join([head, *lines])
