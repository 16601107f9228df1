"""The connection of a program to the service."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from ipulse.client import datasets, sweeps
from ipulse.client.jobs import calls
from ipulse.client.jobs.batches import (
    BatchResult,
    BatchVerb,
    JobSearch,
    JobSelection,
    unknown_names,
)
from ipulse.client.jobs.comparison import compare
from ipulse.client.jobs.curves import MetricCurve, curves
from ipulse.client.jobs.requests import JobRequest, each_placed, is_path
from ipulse.client.jobs.resources import Job, JobChange, SubmissionPlan, ValidSpec
from ipulse.client.jobs.snapshot import JobSnapshot
from ipulse.client.location import PathLike, find_service
from ipulse.client.only_async import AsyncConnectionBase
from ipulse.client.submission import Submittable, document_of, requested
from ipulse.client.sweeps.definition import sweep_definition
from ipulse.client.transport.connection import options_for
from ipulse.client.transport.retries import FOLLOWING
from ipulse.client.transport.transports import AsyncTransport
from ipulse.deprecated import former_call
from ipulse_core.errors import Conflict, InvalidInput, IPUlseError

from .administration import AsyncAdministration
from .data_sets import AsyncDataSets
from .found_jobs import AsyncFoundJobs
from .job import AsyncJobHandle
from .job_reference import find_job
from .sweep import AsyncSweepHandle

if TYPE_CHECKING:
    from ipulse.client.datasets.resources import UploadProgress
    from ipulse.client.sweeps.resources import SweepPlan
    from ipulse.sweeps import SweepConfig

CACHED_JOBS = 256


def connect_async(
    url: str | None = None,
    token: str | None = None,
    *,
    token_file: PathLike | None = None,
    home: PathLike | None = None,
    ca: PathLike | None = None,
    project: str | None = None,
    timeout: float = 30.0,
    retries: int = 4,
) -> AsyncConnection:
    """Return a connection to the service.

    Use it as in `async with ipulse.connect_async() as connection`.

    Without arguments the service is found as by the command line: by IPULSE_URL and IPULSE_TOKEN or
    IPULSE_TOKEN_FILE, else by ipulse.toml or `ipulse login`, else it is the stack of `ipulse up`.

    Args:
        url: The address of the service.
        token: The token.
        token_file: A file with the token.
        home: The home of a local stack.
        ca: A PEM file with the service's authority or certificate.
        project: The project of what it adds; by default IPULSE_PROJECT, else the only one, or
            `default`.
        timeout: Seconds for each answer to begin.
        retries: How often a call is repeated while the service is unavailable; twice as often for
            watching, waiting and downloading.

    Raises Unavailable if no service is known, NotAuthenticated without a token for it.
    """
    return AsyncConnection(
        url,
        token,
        token_file=token_file,
        home=home,
        ca=ca,
        project=project,
        timeout=timeout,
        retries=retries,
    )


class AsyncConnection(AsyncConnectionBase, AsyncDataSets, AsyncAdministration):
    """A connection to the service, with everything that the command line does.

    Jobs and sweeps are handles with methods of their own, such as `AsyncJobHandle.pause`. Errors
    are those of ipulse_core.errors. The arguments are those of `connect_async`.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        token_file: PathLike | None = None,
        home: PathLike | None = None,
        ca: PathLike | None = None,
        project: str | None = None,
        timeout: float = 30.0,
        retries: int = 4,
    ) -> None:
        service = find_service(url, token, token_file, home, ca=ca)
        transport = AsyncTransport(**options_for(service, timeout, project))
        super().__init__(service.url, transport, timeout, retries)
        self._known: dict[str, Job] = {}  # last responses, so that polling is cheap
        self._has_token_text = token is not None
        # The address is that of now, also if another local stack is started later.
        self._arguments: dict[str, Any] = {
            "url": service.url if url else None,
            "token_file": token_file,
            "home": home,
            "ca": ca,
            "project": project,
            "timeout": timeout,
            "retries": retries,
        }

    async def ready(self) -> dict[str, Any]:
        """Return how the service is ready to process jobs. Raises Unavailable otherwise."""
        return await self._send(calls.ready())

    async def validate(self, experiment: Submittable) -> ValidSpec:
        """Check an experiment in the service, without running it. Raises InvalidSpec."""
        return await self._send(calls.validate(document_of(experiment)))

    async def plan(
        self, experiment: Submittable, priority: int = 0, run_seconds: int | None = None
    ) -> SubmissionPlan:
        """Check an experiment and return when and where it would run; stores nothing.

        Args:
            experiment: As in `submit`.
            priority: Jobs of a higher priority start first.
            run_seconds: The longest run in seconds. A job with a limit starts earlier where it
                ends before an agent is reserved, or before a job that comes first can start.

        Raises InvalidSpec, and InvalidInput if no agent could run it.
        """
        return await self._send(calls.plan(document_of(experiment), priority, run_seconds))

    async def submit(
        self,
        experiment: Submittable,
        idempotency_key: str | None = None,
        *,
        tags: Sequence[str] = (),
        group: str | None = None,
        notes: str = "",
        start_from: JobSnapshot | str | None = None,
        start_mode: Literal["continue", "weights"] | None = None,
        after: Sequence[str] = (),
        priority: int | None = None,
        queue_seconds: int | None = None,
        run_seconds: int | None = None,
        total_seconds: int | None = None,
    ) -> AsyncJobHandle:
        """Submit a job and return its handle.

        Args:
            experiment: An Experiment, a spec, a dict, or the path of a YAML or JSON file.
            idempotency_key: Equal keys start one job only, also from several runs of a program.
                Without one a new key is made, so that a retry never starts a second job.
            tags: Short words to find the job by.
            group: A group of jobs that it belongs to.
            notes: Notes for people, in Markdown.
            start_from: A job, or its id, from which this one begins.
            start_mode: continue (the default) trains on from its last checkpoint, with the same
                spec but for the epochs; weights begins with its weights, by the names of layers.
            after: Ids of jobs that must succeed before it is queued, or `ID:end`, `ID:failure`.
            priority: Jobs of a higher priority start first.
            queue_seconds: The job fails if it waits longer.
            run_seconds: The job fails if it runs longer.
            total_seconds: The job fails if it takes longer in all.

        Raises InvalidSpec with every problem, and InvalidInput for a wrong idempotency key.
        """
        request = JobRequest(
            document_of(experiment),
            priority=priority,
            queue_seconds=queue_seconds,
            run_seconds=run_seconds,
            total_seconds=total_seconds,
            tags=tags,
            group=group,
            notes=notes,
            after=after,
            start_from=start_from.id if isinstance(start_from, JobSnapshot) else start_from,
            start_mode=start_mode,
        )
        if is_path(request.spec):  # with its text
            try:
                return (await self.submit_all([request], idempotency_key))[0]
            except InvalidInput as error:
                raise each_placed(error, lambda _, problem: problem) from None
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        return AsyncJobHandle(self, await self._send(calls.submit(request, key)))

    async def submit_all(
        self, experiments: Sequence[Submittable | JobRequest], idempotency_key: str | None = None
    ) -> list[AsyncJobHandle]:
        """Submit up to 500 jobs in one request, all or none; return their handles in order.

        Args:
            experiments: Experiments, specs, dicts or paths of files; a JobRequest has the arguments
                of `submit`, too.
            idempotency_key: That of the whole request.

        Raises InvalidSpec with the problems of all of them; pointers begin with /jobs/0 and so on.
        """
        requests = [requested(experiment) for experiment in experiments]
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        jobs = await self._send(calls.submit_all(requests, key))
        return [AsyncJobHandle(self, job) for job in jobs]

    async def job(self, reference: str) -> AsyncJobHandle:
        """Return the handle of a job.

        A reference is an id, its first digits with or without `job_`, the name of a single job,
        `latest`, or `latest~N` for the N-th job before the latest. Raises NotFound, with the
        candidates if several jobs match; of jobs with one name it is SeveralJobs, which has them in
        `found`, the newest first.
        """
        return AsyncJobHandle(self, await self._get_job(await find_job(self, reference)))

    async def _get_job(self, job_id: str) -> Job:
        known = self._known.pop(job_id, None)
        job = self._known[job_id] = await self._send(calls.get(job_id, known))
        if len(self._known) > CACHED_JOBS:
            del self._known[next(iter(self._known))]  # the least recently used one
        return job

    def jobs(
        self,
        query: str = "",
        sort: str = "",
        *,
        state: str | None = None,
        columns: Sequence[str] = (),
        id_prefix: str | None = None,
        page_size: int = 100,
        waiting_on: bool = False,
    ) -> AsyncFoundJobs:
        """Return the jobs that a search finds, without their specs; pages are fetched as needed.

        Args:
            query: In the search language, such as `tag:baseline test_accuracy>0.95`.
            sort: Columns, such as `-test_accuracy,name`; by default newest first.
            state: Only jobs in this state.
            columns: Settings and metrics whose values are returned in `job.json["values"]`.
            id_prefix: Only jobs whose ids begin so.
            page_size: Jobs of one request.
            waiting_on: Return in `job.json["waiting_on"]` what each job waits for.

        A use of them raises InvalidInput, with the place in the query.
        """
        search = JobSearch(query, sort, columns, waiting_on=waiting_on)
        return AsyncFoundJobs(self, search, state, id_prefix, page_size)

    async def watch_all(
        self, after: str = "now", project: str | None = None
    ) -> AsyncGenerator[JobChange, None]:
        """Yield the changes of the states of all jobs as they happen, without end and gaps.

        Args:
            after: The cursor of the last change that is known; `now`: those from now on; an empty
                text: all of the last 30 days.
            project: Only jobs of this project.

        Only jobs that the caller may read are returned.
        """
        while True:
            page = await self._send(calls.changes(after, project, 0 if after == "now" else 25))
            for change in page.changes:
                yield change
            after = page.next_after

    async def check_columns(self, names: Sequence[str]) -> None:
        """Raise InvalidInput, with the known names, if no job has a column of one of these."""
        page = await self._send(calls.list_jobs(None, 1, "", search=JobSearch(columns=names)))
        if not page.unknown_columns:
            return
        known = await self._send(calls.columns())
        if known["total"]:  # without jobs, settings are not known either
            names = [column["label"] for column in known["columns"]]
            raise unknown_names("field, setting or metric", page.unknown_columns, names)

    async def metric_names(self) -> list[str]:
        """Return the names of the metrics that occur in jobs."""
        columns = (await self._send(calls.columns()))["columns"]
        return [column["label"] for column in columns if column["kind"] == "metric"]

    async def change_all(
        self, verb: BatchVerb, selection: JobSelection, dry_run: bool = False
    ) -> BatchResult:
        """Change all jobs of a selection as the method of one job does; `finish` is `stop`.

        A job whose state does not allow the change stays as it is. With `dry_run` no job
        changes: `changeable` of the result counts the jobs that allow the change.
        """
        return await self._change_all(verb, selection, dry_run)

    async def edit_all(
        self,
        selection: JobSelection,
        *,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        group: str | None = None,
        priority: int | None = None,
        dry_run: bool = False,
    ) -> BatchResult:
        """Change tags, group or priority of all jobs of a selection.

        A job for which one of the changes is not possible stays as it is. With `dry_run` no job
        changes: `changeable` of the result counts the jobs that allow the change.
        """
        changes = {
            "add_tags": [*add_tags],
            "remove_tags": [*remove_tags],
            "group": group,
            "priority": priority,
        }
        return await self._change_all("edit", selection, dry_run, changes)

    async def _change_all(
        self,
        verb: str,
        selection: JobSelection,
        dry_run: bool,
        changes: Mapping[str, Any] | None = None,
    ) -> BatchResult:
        total: BatchResult | None = None  # of as many requests as are needed
        while True:
            result = await self._send(calls.change_all(verb, selection, dry_run, changes))
            total = result if total is None else total.followed_by(result)
            if dry_run or not result.remaining:
                return total

    async def curves(
        self,
        job_ids: Sequence[str],
        names: Sequence[str] = (),
        *,
        scope: str = "epoch",
        x: str = "epoch",
        begin: float | None = None,
        end: float | None = None,
        points: int = 1000,
    ) -> list[MetricCurve]:
        """Return curves of metrics of jobs, all metrics unless some are named.

        Args:
            job_ids: Ids of the jobs.
            names: The metrics.
            scope: epoch, or step for the values of training steps.
            x: epoch, step, samples, training_time (s, without pauses) or wall_time (s since 1970).
            begin: Lower bound of x.
            end: Upper bound of x.
            points: A curve with more is divided into so many buckets, at most.

        Raises NotFound and InvalidInput.
        """
        return await self._send(curves(job_ids, names, scope, x, (begin, end), points))

    async def compare(
        self,
        job_ids: Sequence[str] | None = None,
        *,
        query: str | None = None,
        columns: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
        group_by: Sequence[str] | None = None,
        left_out: Sequence[str] = ("seed",),
    ) -> dict[str, Any]:
        """Compare jobs: the settings that differ, their metrics, and figures of groups.

        Jobs of a group have equal values of `group_by`: by default of all settings that differ but
        those `left_out`. The result is that of `POST /v1/jobs:compare`. Raises InvalidInput and
        NotFound.
        """
        chosen = {
            "columns": columns,
            "metrics": metrics,
            "group_by": group_by,
            "except": left_out,
        }
        return await self._send(compare(job_ids, query, chosen))

    async def import_archive(
        self, path: PathLike, on_progress: UploadProgress | None = None
    ) -> AsyncJobHandle:
        """Import a job from a file of `ipulse export archive`, with its id, events and files.

        The same archive twice is one job. Raises InvalidInput with every problem of the archive,
        and Conflict if the service has another job of this id.
        """
        upload_id, _ = await self._upload(path, "archive", on_progress)
        try:
            job = await self._send(calls.import_archive(upload_id), FOLLOWING * self._retries)
        except (Conflict, InvalidInput):
            await self._forget_upload(upload_id)
            raise
        await self._forget_upload(upload_id)
        return AsyncJobHandle(self, job)

    async def _forget_upload(self, upload_id: str) -> None:
        with suppress(IPUlseError):  # the service forgets it after a day
            await self._send(datasets.calls.delete_upload(upload_id))

    async def create_sweep(
        self,
        experiment: Submittable | SweepConfig,
        vary: Mapping[str, Any] | None = None,
        *,
        seeds: int | Sequence[int] = 0,
        name: str | None = None,
        method: str | None = None,
        trials: int | None = None,
        parallel: int | None = None,
        metric: str | None = None,
        goal: Literal["maximize", "minimize"] | None = None,
        priority: int = 0,
        idempotency_key: str | None = None,
    ) -> AsyncSweepHandle:
        """Create a sweep and return its handle; its trials begin at once.

        Args:
            experiment: The experiment, as for `submit`; or, without `vary`, a mapping with the
                definition of the whole sweep, as in the file of `ipulse sweep run`.
            vary: The values of each setting that varies, by its path or the end of it. A list is
                an axis of a grid; {"log_uniform": [1e-4, 1e-1]} and the like are drawn from.
            seeds: Replicas of each trial: their number, counted from the experiment's seed, or a
                list of seeds; 0 for one job with the experiment's seed.
            name: The name; by default that of the experiment.
            method: grid, random or another of POST /v1/sweeps.
            trials: The number of trials, where it is not that of the grid.
            parallel: Trials at the same time.
            metric: The final metric by which trials are compared; by default validation_accuracy
                where data.validation is set, else test_accuracy, and of a regression the mean
                absolute error.
            goal: Which values are better; by default minimize for metrics that should fall, such
                as losses, and else maximize.
            priority: Of the jobs in the queue.
            idempotency_key: Equal keys create one sweep only.

        Raises InvalidSpec and InvalidSweep with every problem.
        """
        fields = {"method": method, "trials": trials, "parallel": parallel, "priority": priority}
        fields |= {"metric": metric, "goal": goal}
        definition = sweep_definition(experiment, name, vary, seeds, fields)
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        status = await self._send(sweeps.calls.create_sweep(definition, key))
        return AsyncSweepHandle(self, status)

    async def plan_sweep(
        self,
        experiment: Submittable | SweepConfig,
        vary: Mapping[str, Any] | None = None,
        *,
        seeds: int | Sequence[int] = 0,
        method: str | None = None,
        trials: int | None = None,
        parallel: int | None = None,
    ) -> SweepPlan:
        """Check a sweep and return what it would take; stores nothing.

        The arguments are those of `create_sweep`. Raises InvalidSpec and InvalidSweep, and
        InvalidInput if no agent could run it.
        """
        fields = {"method": method, "trials": trials, "parallel": parallel}
        definition = sweep_definition(experiment, None, vary, seeds, fields)
        return await self._send(sweeps.calls.plan_sweep(definition))

    @former_call("create_sweep")
    async def sweep(self, sweep_id: str) -> AsyncSweepHandle:
        """Return the handle of a sweep by its id. Raises NotFound."""
        return AsyncSweepHandle(self, await self._send(sweeps.calls.sweep(sweep_id)))

    async def sweeps(self, limit: int = 100) -> list[AsyncSweepHandle]:
        """Return the latest sweeps, newest first."""
        found: list[AsyncSweepHandle] = []
        token = ""
        while True:
            size = min(limit - len(found), 500)
            page, token = await self._send(sweeps.calls.sweeps(size, token))
            found += [AsyncSweepHandle(self, status) for status in page]
            if not token or len(found) >= limit:
                return found[:limit]
