"""The connection of a program to the service."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal

from ipulse.client import Client, JobRequest, SubmissionPlan, ValidSpec
from ipulse.client.client_base import ClientBase
from ipulse.client.location import PathLike
from ipulse.experiment import Experiment
from ipulse.experiment.part import plain
from ipulse_core.errors import Conflict

from .data_library import DataLibrary
from .jobs.found_jobs import FoundJobs
from .jobs.job import JobHandle
from .jobs.snapshot import JobSnapshot
from .submission import Submittable, document_of, requested
from .sweep import SweepHandle, sweep_document


def connect(
    url: str | None = None,
    token: str | None = None,
    *,
    token_file: PathLike | None = None,
    home: PathLike | None = None,
    ca: PathLike | None = None,
    timeout: float = 30.0,
    retries: int = 4,
) -> Connection:
    """Return a connection to the service.

    Without arguments the service is found as by the command line: by IPULSE_URL and IPULSE_TOKEN or
    IPULSE_TOKEN_FILE, else it is the local stack of `ipulse up`.

    Args:
        url: The address of the service.
        token: The token.
        token_file: A file with the token.
        home: The home of a local stack.
        ca: A PEM file with the service's authority or certificate.
        timeout: Seconds for each answer to begin.
        retries: How often a call is repeated while the service is unavailable.

    Raises Unavailable if no service is known, NotAuthenticated without a token for it.
    """
    options = {"token_file": token_file, "home": home, "ca": ca}
    return Connection(url, token, {**options, "timeout": timeout, "retries": retries})


class Connection:
    """Jobs of a service. It may be closed, or used as a context manager, but need not be.

    Attributes:
        client: The ipulse.client.Client with the single calls of the HTTP interface.
    """

    def __init__(self, url: str | None, token: str | None, options: dict[str, Any]) -> None:
        self.client = Client(url, token, **options)
        self._has_token_text = token is not None
        # The address is that of now, also if another local stack is started later.
        self._arguments = (self.client.url if url else None, options)

    @property
    def url(self) -> str:
        """The address of the service."""
        return self.client.url

    @property
    def calls(self) -> ClientBase:
        """The coroutines of the client, for handles."""
        return self.client.calls

    def submit(
        self,
        experiment: Submittable,
        *,
        tags: Sequence[str] = (),
        group: str | None = None,
        notes: str = "",
        start_from: JobSnapshot | str | None = None,
        start_mode: Literal["continue", "weights"] | None = None,
        priority: int | None = None,
        queue_seconds: int | None = None,
        run_seconds: int | None = None,
        total_seconds: int | None = None,
        idempotency_key: str | None = None,
    ) -> JobHandle:
        """Submit a job and return its handle.

        Args:
            experiment: An Experiment, a spec, a dict, or the path of a YAML or JSON file.
            tags: Short words to find the job by.
            group: A group of jobs that it belongs to.
            notes: Notes for people, in Markdown.
            start_from: A job, or its id, from which this one begins.
            start_mode: continue (the default) trains on from its last checkpoint, with the same
                spec but for the epochs; weights begins with its weights, by the names of layers.
            priority: Jobs of a higher priority start first.
            queue_seconds: The job fails if it waits longer.
            run_seconds: The job fails if it runs longer.
            total_seconds: The job fails if it takes longer in all.
            idempotency_key: Equal keys start one job only, also from several runs of a program.

        Raises InvalidSpec with every problem.
        """
        job = self.client.submit(
            document_of(experiment),
            idempotency_key,
            tags=tags,
            group=group,
            notes=notes,
            start_from=start_from.id if isinstance(start_from, JobSnapshot) else start_from,
            start_mode=start_mode,
            priority=priority,
            queue_seconds=queue_seconds,
            run_seconds=run_seconds,
            total_seconds=total_seconds,
        )
        return JobHandle(self, job)

    def submit_all(
        self, experiments: Sequence[Submittable | JobRequest], idempotency_key: str | None = None
    ) -> list[JobHandle]:
        """Submit several jobs in one request, all or none, and return their handles in order.

        Args:
            experiments: Experiments, specs, dicts or paths of files; a JobRequest has the arguments
                of `submit`, too.
            idempotency_key: That of the whole request.

        Raises InvalidSpec with the problems of all of them; pointers begin with /jobs/0 and so on.
        """
        requests = [requested(experiment) for experiment in experiments]
        return [JobHandle(self, job) for job in self.client.submit_all(requests, idempotency_key)]

    def validate(self, experiment: Submittable) -> ValidSpec:
        """Check an experiment in the service, without running it. Raises InvalidSpec."""
        return self.client.validate(document_of(experiment))

    def job(self, reference: str) -> JobHandle:
        """Return the handle of a job by a reference; see Client.find_id. Raises NotFound."""
        return JobHandle(self, self.client.get(self.client.find_id(reference)))

    def jobs(self, query: str = "", sort: str = "") -> FoundJobs:
        """Return the jobs that a search finds.

        Args:
            query: In the search language, such as `tag:baseline test_accuracy>0.95`.
            sort: Columns, such as `-test_accuracy,name`; by default newest first.
        """
        return FoundJobs(self, query, sort)

    def plan(self, experiment: Submittable, priority: int = 0) -> SubmissionPlan:
        """Check an experiment and return when and where it would run; stores nothing.

        Raises InvalidSpec, and InvalidInput if no agent could run it.
        """
        return self.client.plan(document_of(experiment), priority)

    def sweep(
        self,
        experiment: Submittable,
        vary: Mapping[str, Any],
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
    ) -> SweepHandle:
        """Create a sweep and return its handle; its trials begin at once.

        Args:
            experiment: The experiment, as for `submit`.
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
        document = document_of(experiment)
        if isinstance(document, (str, os.PathLike)):
            document = Experiment.load(document).to_json()
        fields = {"method": method, "trials": trials, "parallel": parallel, "priority": priority}
        fields |= {"metric": metric, "goal": goal}
        definition = sweep_document(plain(document), name, vary, seeds, fields)
        return SweepHandle(self, self.client.create_sweep(definition, idempotency_key))

    def open_sweep(self, sweep_id: str) -> SweepHandle:
        """Return the handle of a sweep by its id. Raises NotFound."""
        return SweepHandle(self, self.client.sweep(sweep_id))

    @property
    def data(self) -> DataLibrary:
        """The data sets of the service."""
        return DataLibrary(self)

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(Exception):  # it was never opened, or the interpreter ends
            self.client.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __reduce__(self) -> Any:
        if self._has_token_text:
            raise Conflict(
                "a connection with a token as text is not pickled, so that the token stays in this "
                "process: pass token_file, or set IPULSE_TOKEN_FILE"
            )
        url, options = self._arguments
        return Connection, (url, None, options)
