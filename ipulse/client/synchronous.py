"""The synchronous client."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from ipulse.sweeps import SweepConfig

from .agent_resources import AgentStatus, DeviceStatus, JoinToken
from .batches import BatchResult, JobSelection
from .blocking_data_sets import BlockingDataSets
from .calls import Spec
from .client_base import ClientBase
from .connection import options_for
from .curves import MetricCurve
from .location import PathLike, find_service
from .resources import Artifact, Job, JobEvent, SubmissionPlan, Token, ValidSpec
from .sweep_resources import SweepStatus, SweepTrial
from .transports import BlockingTransport, finished, stepped


class Client(BlockingDataSets):
    """Submits jobs, follows them and downloads their results.

    The client finds the service by its arguments, the environment (IPULSE_URL, IPULSE_TOKEN,
    IPULSE_TOKEN_FILE, IPULSE_CA) or the home of `ipulse up`. `ca` is a file with the service's
    authority or certificate. Calls are retried up to `retries` times while the service is
    unavailable, twice as often for watching, waiting and downloading. `timeout` is in seconds, for
    each response to begin. Errors are those of ipulse_core.errors. Close the client, or use it as
    a context manager.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        token_file: PathLike | None = None,
        home: PathLike | None = None,
        ca: PathLike | None = None,
        timeout: float = 30.0,
        retries: int = 4,
    ) -> None:
        service = find_service(url, token, token_file, home, ca=ca)
        self.url = service.url
        transport = BlockingTransport(**options_for(service, timeout))
        self._calls = ClientBase(service.url, transport, timeout, retries)
        self._http = transport.http

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def calls(self) -> ClientBase:
        """The coroutines that the methods of this client run; none of them ever suspends."""
        return self._calls

    def close(self) -> None:
        """Close the connections."""
        finished(self._calls.close())

    def ready(self) -> None:
        """Return if the service can process jobs. Raises Unavailable otherwise."""
        finished(self._calls.ready())

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
        Raises InvalidSpec.
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

    def get(self, job_id: str) -> Job:
        """Return the job in its current state. Raises NotFound."""
        return finished(self._calls.get(job_id))

    def find_id(self, reference: str) -> str:
        """Return the full id of the job that a reference means.

        A reference is an id, its first digits with or without `job_`, `latest`, or `latest~N` for
        the N-th job before the latest. The service is asked only if it is not a full id. Raises
        NotFound, with the candidates if several jobs match.
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
    ) -> Iterator[Job]:
        """Yield jobs, newest first and without their specs; pages are fetched as needed.

        `query` is in the search language, such as `state:succeeded test_accuracy>0.95`; `sort`
        names columns, such as `-test_accuracy,name`; `job.json["values"]` has the values of
        `columns`, such as `learning_rate`. Raises InvalidInput with the place in the query.
        """
        return stepped(
            self._calls.list(state, page_size, id_prefix, query=query, sort=sort, columns=columns)
        )

    def count(self, query: str = "") -> int:
        """Return the number of jobs that a query finds. Raises InvalidInput."""
        return finished(self._calls.count(query))

    def cancel(self, job_id: str) -> Job:
        """Cancel the job; a job that has ended does not change. Raises NotFound."""
        return finished(self._calls.cancel(job_id))

    def finish(self, job_id: str) -> Job:
        """End the training after its present step and keep its results, as `ipulse stop`.

        Repeated, or after the job's end, this changes nothing. Raises Conflict for a job that no
        agent holds, NotFound.
        """
        return finished(self._calls.finish(job_id))

    def continue_training(
        self, job_id: str, epochs: int, idempotency_key: str | None = None
    ) -> Job:
        """Train a job that has ended for more epochs, as a new job from its last checkpoint.

        Raises Conflict for a job that runs or has no checkpoint, NotFound.
        """
        return finished(self._calls.continue_training(job_id, epochs, idempotency_key))

    def pause(self, job_id: str) -> Job:
        """Pause the job; a running job writes a checkpoint first. Raises Conflict, NotFound."""
        return finished(self._calls.pause(job_id))

    def resume(self, job_id: str) -> Job:
        """Resume a paused job from its last checkpoint. Raises Conflict, NotFound."""
        return finished(self._calls.resume(job_id))

    def delete(self, job_id: str) -> None:
        """Delete a job that has ended, with its files. Raises Conflict, NotFound."""
        finished(self._calls.delete(job_id))

    def change_priority(self, job_id: str, priority: int) -> Job:
        """Change the priority of a job that has not ended. Raises Conflict, NotFound."""
        return self.edit(job_id, priority=priority)

    def edit(
        self,
        job_id: str,
        *,
        name: str | None = None,
        notes: str | None = None,
        tags: Sequence[str] | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        group: str | None = None,
        priority: int | None = None,
    ) -> Job:
        """Change attributes of a job; those that are not given stay as they are.

        `tags` replace all tags of the job; an empty `group` takes it out of its group. Raises
        InvalidInput, Conflict for the priority of a job that has ended, and NotFound.
        """
        return finished(
            self._calls.edit(
                job_id,
                name=name,
                notes=notes,
                tags=tags,
                add_tags=add_tags,
                remove_tags=remove_tags,
                group=group,
                priority=priority,
            )
        )

    def cancel_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Cancel all jobs of a selection; with `dry_run` only count them."""
        return finished(self._calls.cancel_all(selection, dry_run))

    def delete_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Delete all jobs of a selection that have ended; with `dry_run` only count them."""
        return finished(self._calls.delete_all(selection, dry_run))

    def pause_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Pause all jobs of a selection; with `dry_run` only count them."""
        return finished(self._calls.pause_all(selection, dry_run))

    def finish_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Finish all running jobs of a selection, see `finish`; with `dry_run` only count them."""
        return finished(self._calls.finish_all(selection, dry_run))

    def resume_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Resume all paused jobs of a selection; with `dry_run` only count them."""
        return finished(self._calls.resume_all(selection, dry_run))

    def edit_all(
        self,
        selection: JobSelection,
        *,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        group: str | None = None,
        priority: int | None = None,
        dry_run: bool = False,
    ) -> BatchResult:
        """Change tags, group or priority of all jobs of a selection, see `edit`.

        A job for which one of the changes is not possible stays as it is. With `dry_run` the jobs
        are only counted.
        """
        return finished(
            self._calls.edit_all(
                selection,
                add_tags=add_tags,
                remove_tags=remove_tags,
                group=group,
                priority=priority,
                dry_run=dry_run,
            )
        )

    def events(self, job_id: str, after: int = 0, kinds: Sequence[str] = ()) -> Iterator[JobEvent]:
        """Yield the events so far, after number `after`; `kinds` selects some kinds."""
        return stepped(self._calls.events(job_id, after, kinds))

    def watch(self, job_id: str, after: int = 0) -> Iterator[JobEvent]:
        """Yield events as they happen until the job has ended; reconnects without gaps."""
        return stepped(self._calls.watch(job_id, after))

    def wait(self, job_id: str, timeout: float | None = None) -> Job:
        """Wait until the job has ended and return it. Raises TimeoutError after `timeout` s."""
        return finished(self._calls.wait(job_id, timeout))

    def curves(
        self,
        job_ids: Sequence[str],
        names: Sequence[str] = (),
        *,
        scope: str = "epoch",
        x: str = "epoch",
        begin: float | None = None,
        end: float | None = None,
        points: int = 1000,
    ) -> builtins.list[MetricCurve]:
        """Return curves of metrics of jobs, all metrics unless some are named.

        scope: epoch, or step for the values of training steps.
        x: epoch, step, samples, training_time (s, without pauses) or wall_time (s since 1970).
        begin, end: bounds of x.
        points: a curve with more is divided into so many buckets, at most.

        Raises NotFound and InvalidInput.
        """
        return finished(
            self._calls.curves(
                job_ids, names, scope=scope, x=x, begin=begin, end=end, points=points
            )
        )

    def compare(
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
        return finished(
            self._calls.compare(
                job_ids,
                query=query,
                columns=columns,
                metrics=metrics,
                group_by=group_by,
                left_out=left_out,
            )
        )

    def artifacts(self, job_id: str) -> builtins.list[Artifact]:
        """Return the files of the job's official attempt."""
        return finished(self._calls.artifacts(job_id))

    def download(
        self, job_id: str, to: PathLike, roles: Collection[str] | None = None
    ) -> builtins.list[Path]:
        """Download the job's files to a folder, all of them or those of some roles.

        Each file is verified by its SHA-256 before it gets its name. A file that exists already
        is not downloaded again. Raises RemoteError for content with another digest.
        """
        return finished(self._calls.download(job_id, to, roles))

    def download_file(self, job_id: str, name: str, to: PathLike) -> Path:
        """Download one of the job's files to a folder, as `download` does. Raises NotFound."""
        return finished(self._calls.download_file(job_id, name, to))

    def profile(self, job_id: str) -> dict[str, Any]:
        """Return the job's profile.json. Raises NotFound before it exists."""
        return finished(self._calls.profile(job_id))

    def create_token(self, name: str, role: str, seconds: int) -> Token:
        """Create a token for a role (reader, user, worker) that expires after so many seconds.

        Only the owner's token can create others. The `secret` is returned only here. Raises
        NotPermitted.
        """
        return finished(self._calls.create_token(name, role, seconds))

    def tokens(self) -> builtins.list[Token]:
        """Return the tokens that were created and not revoked, without their secrets."""
        return finished(self._calls.tokens())

    def revoke_token(self, token_id: str) -> None:
        """Revoke a token: the service refuses it at once. Raises NotFound."""
        finished(self._calls.revoke_token(token_id))

    def create_sign_in_code(self) -> str:
        """Create a code that signs one browser in, once, within ten minutes.

        Open `/login#code=CODE` of the service with it. The browser may do what this client may.
        """
        return finished(self._calls.create_sign_in_code())

    def create_join_token(
        self, labels: Mapping[str, str] | None = None, uses: int = 1, seconds: int = 3600
    ) -> JoinToken:
        """Create a token with which so many agents of other machines may join within `seconds`.

        Only the owner's token can create one. The agents get the labels. The `secret` is returned
        only here. Raises NotPermitted.
        """
        return finished(self._calls.create_join_token(labels, uses, seconds))

    def join_tokens(self) -> builtins.list[JoinToken]:
        """Return the join tokens that can still be used, without their secrets."""
        return finished(self._calls.join_tokens())

    def revoke_join_token(self, token_id: str) -> None:
        """Revoke a join token; agents that have joined with it stay. Raises NotFound."""
        finished(self._calls.revoke_join_token(token_id))

    def agents(self) -> builtins.list[AgentStatus]:
        """Return the agents that were seen in the last week, and the jobs that they hold."""
        return finished(self._calls.agents())

    def devices(self) -> builtins.list[DeviceStatus]:
        """Return the devices of all agents, and the jobs that use them."""
        return finished(self._calls.devices())

    def drain_agent(self, name: str, seconds: int | None = None) -> AgentStatus:
        """Keep jobs away from an agent until it is resumed. Raises NotFound, NotPermitted.

        A job that it holds may end; with `seconds` it returns to the queue after that time, from a
        checkpoint.
        """
        return finished(self._calls.drain_agent(name, seconds))

    def resume_agent(self, name: str) -> AgentStatus:
        """Let an agent claim jobs again. Raises NotFound."""
        return finished(self._calls.resume_agent(name))

    def remove_agent(self, name: str) -> None:
        """Remove an agent and revoke its own token. Raises Conflict, NotFound."""
        finished(self._calls.remove_agent(name))

    def create_sweep(
        self, definition: SweepConfig | Mapping[str, Any], idempotency_key: str | None = None
    ) -> SweepStatus:
        """Create a sweep from its definition; its trials begin at once.

        Without an idempotency key a new one is made, so that a retry never creates a second sweep.
        Raises InvalidSweep.
        """
        return finished(self._calls.create_sweep(definition, idempotency_key))

    def sweep(self, sweep_id: str) -> SweepStatus:
        """Return the sweep in its current state. Raises NotFound."""
        return finished(self._calls.sweep(sweep_id))

    def sweeps(self, limit: int = 100) -> builtins.list[SweepStatus]:
        """Return the latest sweeps, newest first."""
        return finished(self._calls.sweeps(limit))

    def sweep_trials(self, sweep_id: str) -> builtins.list[SweepTrial]:
        """Return all trials of a sweep that have begun, in order. Raises NotFound."""
        return finished(self._calls.sweep_trials(sweep_id))

    def pause_sweep(self, sweep_id: str) -> SweepStatus:
        """Begin no more trials for now. Raises Conflict for a sweep that stops, NotFound."""
        return finished(self._calls.pause_sweep(sweep_id))

    def resume_sweep(self, sweep_id: str) -> SweepStatus:
        """Let a paused sweep begin trials again. Raises Conflict, NotFound."""
        return finished(self._calls.resume_sweep(sweep_id))

    def stop_sweep(self, sweep_id: str, running: str = "keep") -> SweepStatus:
        """Begin no more trials and cancel queued jobs. Raises NotFound.

        `running` says what happens to jobs that run: keep, finish (now, with their results) or
        cancel.
        """
        return finished(self._calls.stop_sweep(sweep_id, running))

    def change_sweep(
        self, sweep_id: str, trials: int | None = None, parallel: int | None = None
    ) -> SweepStatus:
        """Change the number of trials, in all or at the same time. Raises InvalidInput, NotFound.

        A sweep that has ended goes on if more trials are asked for.
        """
        return finished(self._calls.change_sweep(sweep_id, trials, parallel))
