"""Changes of several jobs: those that are named, or those that a query or filters find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from ipulse.cli.commands.jobs.status import print_jobs
from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON, DryRun, JobIds, JobQuery, Yes, parse_time
from ipulse.cli.terminal import confirm, emit, jobs_text, say, show
from ipulse.client import BatchResult, Connection, JobHandle, JobSelection
from ipulse.times import sent_text
from ipulse_core.errors import InvalidInput, Problem

States = Annotated[
    list[str] | None, typer.Option("--state", metavar="STATE", help="All jobs in this state.")
]
Devices = Annotated[
    list[str] | None,
    typer.Option("--device", metavar="KIND", help="All jobs for this kind of device."),
]
Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="NAME=VALUE", help="All jobs with this metadata."),
]
Fields = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="POINTER=VALUE", help="All jobs with this value in the spec."),
]
CreatedAfter = Annotated[
    str | None, typer.Option(metavar="TIME", help="All jobs submitted at this time or later.")
]
CreatedBefore = Annotated[
    str | None, typer.Option(metavar="TIME", help="All jobs submitted before this time.")
]
Every = Annotated[bool, typer.Option("--all", help="All jobs, if there is no filter.")]


@dataclass(frozen=True)
class Change:
    """A change of all jobs that a query finds."""

    verb: str  # "cancel"
    done: str  # "cancelled"
    apply: Callable[[JobSelection, bool], BatchResult]  # True: only counts


@dataclass(frozen=True)
class ChosenJobs:
    """The jobs that a command changes: ids, or a query."""

    job_ids: JobIds = None
    query: JobQuery = None
    dry_run: DryRun = False
    as_json: AsJSON = False

    def __post_init__(self) -> None:
        self.selection()  # refuses what makes no sense before the command connects

    def selection(self) -> JobSelection | None:
        """Return what finds the jobs; None: they are named.

        Raises InvalidInput unless there are either ids or a query.
        """
        if bool(self.job_ids) == (self.query is not None):
            detail = "give either ids of jobs, or -q QUERY"
            raise InvalidInput([Problem("/ID", "missing", detail)], detail)
        if self.query is None:
            if self.dry_run:
                detail = "--dry-run counts the jobs that -q QUERY finds"
                raise InvalidInput([Problem("/dry_run", "no_query", detail)], detail)
            return None
        return JobSelection(query=self.query, every=not self.query.strip())

    def named(self, connection: Connection) -> list[JobHandle]:
        """Return the jobs that are named, each once."""
        return list(dict.fromkeys(connection.job(job_id) for job_id in self.job_ids or ()))

    def change(
        self,
        connection: Connection,
        one: Callable[[JobHandle], JobHandle],
        many: Change,
        report: Callable[[Sequence[JobHandle], bool], Exit] = print_jobs,
    ) -> Exit:
        """Change the jobs: print those that are named, and of those that are found how many."""
        selection = self.selection()
        if selection is not None:
            return self.change_found(selection, many)
        return report([one(job) for job in self.named(connection)], self.as_json)

    def change_found(self, selection: JobSelection, change: Change) -> Exit:
        """Change the jobs that are found, and print how many; a dry run only counts them."""
        if self.dry_run:
            counted = change.apply(selection, True)
            if self.as_json:
                emit(counted.json)
            else:
                show(f"{_counted_text(counted)} would be {change.done}")
            return Exit.OK
        result = self.changed(selection, change)
        if self.as_json:
            emit(result.json)
            return Exit.OK
        if not result.matched:
            say("No jobs are found.")
        show(f"{jobs_text(result.changed)} {change.done}, {result.unchanged:,} left unchanged")
        return Exit.OK

    def changed(self, selection: JobSelection, change: Change) -> BatchResult:
        """Change the jobs. What can be undone needs no question."""
        return change.apply(selection, False)


@dataclass(frozen=True)
class FilteredJobs(ChosenJobs):
    """The jobs that a command ends: ids, or filters, of which it asks before."""

    state: States = None
    device: Devices = None
    label: Labels = None
    field: Fields = None
    created_after: CreatedAfter = None
    created_before: CreatedBefore = None
    every: Every = False
    yes: Yes = False

    def selection(self) -> JobSelection | None:
        """Return the filters; None: the jobs are named.

        Raises InvalidInput unless there is either an id or a filter. A dry run needs none.
        """
        selection = JobSelection(
            states=tuple(self.state or ()),
            devices=tuple(self.device or ()),
            labels=tuple(self.label or ()),
            fields=tuple(self.field or ()),
            every=self.every,
            query=self.query or "",
            created_after=parse_time("created_after", self.created_after),
            created_before=parse_time("created_before", self.created_before),
        )
        has_selection = selection != JobSelection()
        if self.job_ids and (has_selection or self.dry_run):
            detail = "give either ids, or filters"
            raise InvalidInput([Problem("/ID", "id_and_filters", detail)], detail)
        if not self.job_ids and not has_selection and not self.dry_run:
            detail = "give the id of a job, a query, a filter such as --state queued, or --all"
            raise InvalidInput([Problem("/ID", "missing", detail)], detail)
        return None if self.job_ids else selection

    def changed(self, selection: JobSelection, change: Change) -> BatchResult:
        """Change the jobs after a question, and only jobs that were counted before it."""
        if self.yes:
            return change.apply(selection, False)
        counted = change.apply(selection, True)
        if not counted.changeable:
            return counted.unchanged_result
        confirm(change.verb, _counted_text(counted), self.yes)
        if selection.created_before is None:
            selection = replace(selection, created_before=counted.as_of)
        if change.verb == "delete":  # a job that has ended since the question stays
            had_ended = f"finished<{sent_text(counted.as_of)}"
            query = f"({selection.query}) {had_ended}" if selection.query.strip() else had_ended
            selection = replace(selection, query=query)
        return change.apply(selection, False)


def _counted_text(counted: BatchResult) -> str:
    """Return how many jobs allow a change, of how many that were found in which states."""
    states = ", ".join(f"{count:,} {state}" for state, count in counted.by_state.items())
    if counted.changeable == counted.matched:
        return jobs_text(counted.matched) + (f" ({states})" if states else "")
    return f"{counted.changeable:,} of {jobs_text(counted.matched)} ({states})"
