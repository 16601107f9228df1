"""Changes of jobs that are named by ids or by a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ipulse.cli.commands.jobs.status import print_jobs
from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON, DryRun, JobIds, JobQuery
from ipulse.cli.terminal import emit, jobs_text, say, show
from ipulse.client import BatchResult, Client, Job, JobSelection
from ipulse_core.errors import InvalidInput, Problem


@dataclass(frozen=True)
class ChosenJobs:
    """The jobs that a command changes: ids, or a query."""

    job_ids: JobIds = None
    query: JobQuery = None
    dry_run: DryRun = False
    as_json: AsJSON = False

    def change(
        self,
        client: Client,
        done: str,
        one: Callable[[str], Job],
        many: Callable[[JobSelection, bool], BatchResult],
        report: Callable[[Sequence[Job], bool], Exit] = print_jobs,
    ) -> Exit:
        """Change the jobs and print them; of a query, how many were `done`."""
        if self.query is None:
            found = [client.find_id(job_id) for job_id in self.job_ids or ()]
            return report([one(job_id) for job_id in dict.fromkeys(found)], self.as_json)
        result = many(JobSelection(query=self.query, every=not self.query.strip()), self.dry_run)
        if self.as_json:
            emit(result.json)
        elif not result.matched:
            say("The query finds no jobs.")
        elif self.dry_run:
            found_states = (f"{count:,} {state}" for state, count in result.by_state.items())
            show(f"{jobs_text(result.matched)}: {', '.join(found_states)}")
        else:
            show(f"{jobs_text(result.changed)} {done}, {result.unchanged:,} left unchanged")
        return Exit.OK

    def check(self) -> None:
        """Raise InvalidInput unless there are either ids or a query."""
        if bool(self.job_ids) == (self.query is not None):
            detail = "give either ids of jobs, or -q QUERY"
            raise InvalidInput([Problem("/ID", "missing", detail)], detail)
        if self.dry_run and self.query is None:
            detail = "--dry-run counts the jobs that -q QUERY finds"
            raise InvalidInput([Problem("/dry_run", "no_query", detail)], detail)
