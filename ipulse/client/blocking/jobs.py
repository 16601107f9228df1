"""The methods of the synchronous client that submit and follow jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from ipulse.client.client_base import ClientBase
from ipulse.client.jobs.requests import JobRequest, Spec
from ipulse.client.jobs.resources import Job, JobEvent, SubmissionPlan, ValidSpec
from ipulse.client.transport.transports import finished, stepped


class BlockingJobs:
    """Submits, lists and follows jobs."""

    _calls: ClientBase

    def ready(self) -> dict[str, Any]:
        """Return how the service is ready to process jobs. Raises Unavailable otherwise."""
        return finished(self._calls.ready())

    def validate(self, spec: Spec) -> ValidSpec:
        """Check a spec in the service, without running it. Raises InvalidSpec."""
        return finished(self._calls.validate(spec))

    def plan(self, spec: Spec, priority: int = 0) -> SubmissionPlan:
        """Check a spec and return when and where it would run; stores nothing.

        Raises InvalidSpec, and InvalidInput if no agent could run it.
        """
        return finished(self._calls.plan(spec, priority))

    def submit(
        self,
        spec: Spec,
        idempotency_key: str | None = None,
        *,
        priority: int | None = None,
        queue_seconds: int | None = None,
        run_seconds: int | None = None,
        total_seconds: int | None = None,
        tags: Sequence[str] = (),
        group: str | None = None,
        notes: str = "",
        start_from: str | None = None,
        after: Sequence[str] = (),
        start_mode: Literal["continue", "weights"] | None = None,
    ) -> Job:
        """Submit a job from a spec, a dict, or the path of a YAML or JSON file.

        Without an idempotency key a new one is made, so that a retry never starts a second job.
        Pass your own key to make repeated runs of your program safe, too. Jobs of a higher
        priority start first; a job that waits, runs or takes longer than its limit fails. Tags,
        group and notes (Markdown) are attributes of the job, and can be changed by `edit`.
        With `start_from`, the id of another job, it trains on from its checkpoint (continue: the
        same spec with more epochs) or begins with its weights. `after` has ids of jobs that must
        succeed before it is queued, or `ID:end`, `ID:failure`.
        Raises InvalidSpec, and InvalidInput for a wrong idempotency key.
        """
        return finished(
            self._calls.submit(
                spec,
                idempotency_key,
                priority=priority,
                queue_seconds=queue_seconds,
                run_seconds=run_seconds,
                total_seconds=total_seconds,
                tags=tags,
                group=group,
                notes=notes,
                start_from=start_from,
                start_mode=start_mode,
                after=after,
            )
        )

    def submit_all(
        self, jobs: Sequence[JobRequest | Spec], idempotency_key: str | None = None
    ) -> list[Job]:
        """Submit up to 500 jobs in one request, all or none, and return them in the same order.

        Each is a spec, a dict, the path of a file, or a JobRequest with the arguments of `submit`.
        The key is that of the whole request. Raises InvalidSpec with the problems of all specs,
        whose pointers begin with /jobs/0, /jobs/1 and so on.
        """
        return finished(self._calls.submit_all(jobs, idempotency_key))

    def spec_text(self, job_id: str, form: Literal["resolved", "submitted"] = "resolved") -> str:
        """Return the spec of a job as text: with every default, or as it was submitted.

        Raises NotFound if the service has not kept the submitted text.
        """
        return finished(self._calls.spec_text(job_id, form))

    def get(self, job_id: str) -> Job:
        """Return the job in its current state. Raises NotFound."""
        return finished(self._calls.get(job_id))

    def find_id(self, reference: str) -> str:
        """Return the full id of the job that a reference means.

        A reference is an id, its first digits with or without `job_`, the name of a single job,
        `latest`, or `latest~N` for the N-th job before the latest. The service is asked only if it
        is not a full id. Raises NotFound, with the candidates if several jobs match; of jobs with
        one name it is SeveralJobs, which has them in `found`, the newest first.
        """
        return finished(self._calls.find_id(reference))

    def list(
        self,
        state: str | None = None,
        page_size: int = 100,
        id_prefix: str | None = None,
        *,
        query: str = "",
        sort: str = "",
        columns: Sequence[str] = (),
        waiting_on: bool = False,
    ) -> Iterator[Job]:
        """Yield jobs, newest first and without their specs; pages are fetched as needed.

        `query` is in the search language, such as `state:succeeded test_accuracy>0.95`; `sort`
        names columns, such as `-test_accuracy,name`; `job.json["values"]` has the values of
        `columns`, such as `learning_rate`. With `waiting_on`, `job.json["waiting_on"]` says what
        each job waits for. Raises InvalidInput with the place in the query.
        """
        return stepped(
            self._calls.list(
                state,
                page_size,
                id_prefix,
                query=query,
                sort=sort,
                columns=columns,
                waiting_on=waiting_on,
            )
        )

    def count(self, query: str = "") -> int:
        """Return the number of jobs that a query finds. Raises InvalidInput."""
        return finished(self._calls.count(query))

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise InvalidInput, with the known names, if no job has a column of one of these."""
        return finished(self._calls.check_columns(names))

    def events(self, job_id: str, after: int = 0, kinds: Sequence[str] = ()) -> Iterator[JobEvent]:
        """Yield the events so far, after number `after`; `kinds` selects some kinds."""
        return stepped(self._calls.events(job_id, after, kinds))

    def watch(self, job_id: str, after: int = 0) -> Iterator[JobEvent]:
        """Yield events as they happen until the job has ended; reconnects without gaps."""
        return stepped(self._calls.watch(job_id, after))

    def wait(self, job_id: str, timeout: float | None = None) -> Job:
        """Wait until the job has ended and return it. Raises TimeoutError after `timeout` s."""
        return finished(self._calls.wait(job_id, timeout))
