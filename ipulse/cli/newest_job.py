"""Finds the job that a command reads or starts from: of several with one name, the newest."""

from __future__ import annotations

from ipulse.cli.terminal import say
from ipulse.client import Connection, JobHandle, SeveralJobs
from ipulse.client.jobs.failures import LISTED


def find_newest(connection: Connection, reference: str) -> JobHandle:
    """Return the job that a reference means, and say which one of several it took.

    Commands that change or delete jobs call `Connection.job`, which lists the candidates instead.
    Raises NotFound.
    """
    try:
        return connection.job(reference)
    except SeveralJobs as error:
        newest = error.found[0]
        count = f"{len(error.found)}" if len(error.found) <= LISTED else f"more than {LISTED}"
        say(
            f"{count} jobs have the name {reference!r}: this is the newest, {newest.id} "
            f"({newest.state.value})",
            style="yellow",
        )
        return connection.job(newest.id)
