"""The handle of a sweep."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ipulse.client import sweeps
from ipulse.client.only_async import AsyncSweepHandleBase
from ipulse.client.pages import sweep_page
from ipulse.optional_modules import data_frame
from ipulse_core import strict_json
from ipulse_core.errors import NotFound
from ipulse_core.states import JobState

from .found_jobs import AsyncFoundJobs
from .job import AsyncJobHandle

if TYPE_CHECKING:
    from ipulse.client.sweeps.resources import SweepStatus, SweepTrial
    from ipulse.sweeps import RunningJobs

    from .connection import AsyncConnection

_POLL_SECONDS = 2.5  # the longest delay until a job that ended is noticed
_SOON = 0.2  # seconds
_RUNNING = ("running", "stopping")


class AsyncSweepHandle(AsyncSweepHandleBase):
    """A sweep of a connection; its attributes are those of when the service was last asked."""

    def __init__(self, connection: AsyncConnection, status: SweepStatus) -> None:
        self._connection = connection
        self._status = status

    @property
    def status(self) -> SweepStatus:
        """The sweep as the service described it last."""
        return self._status

    @property
    def id(self) -> str:
        """The id, which is also the group of its jobs."""
        return self._status.id

    @property
    def url(self) -> str:
        """The address of the sweep's page."""
        return sweep_page(self._connection.url, self.id)

    @property
    def name(self) -> str:
        """The name for people."""
        return self._status.name

    @property
    def state(self) -> str:
        """The state: running, paused, stopping or ended."""
        return self._status.state

    @property
    def json(self) -> dict[str, Any]:
        """The whole answer of the service."""
        return self._status.json

    async def refresh(self) -> AsyncSweepHandle:
        """Ask the service for the present state; returns the handle itself."""
        self._status = await self._connection._send(sweeps.calls.sweep(self.id))
        return self

    async def trials(self) -> list[SweepTrial]:
        """Return the trials that have begun, with mean, deviation and interval over seeds."""
        found: list[SweepTrial] = []
        after: int | None = 0
        while after is not None:
            page, after = await self._connection._send(sweeps.calls.sweep_trials(self.id, after))
            found += page
        return found

    @property
    def jobs(self) -> AsyncFoundJobs:
        """The jobs of all trials that have begun."""
        return self._connection.jobs(f"group:{self.id}")

    async def as_completed(self) -> AsyncGenerator[AsyncJobHandle, None]:
        """Yield the jobs as they end, until the sweep has ended or is paused.

        Failed and cancelled jobs are among them; deleted ones are not.
        """
        seen: set[str] = set()
        while True:
            await self.refresh()
            waiting = ""
            for trial in await self.trials():
                for replica in trial.json["jobs"]:
                    if replica["id"] in seen or replica["state"] == "deleted":
                        continue
                    if not JobState(replica["state"]).is_terminal:
                        waiting = waiting or replica["id"]
                        continue
                    seen.add(replica["id"])
                    try:
                        ended = await self._connection.job(replica["id"])
                    except NotFound:  # it was deleted after its end
                        continue
                    yield ended
            if waiting:
                with suppress(TimeoutError, NotFound):
                    job = await self._connection.job(waiting)
                    await job.wait(_POLL_SECONDS, check=False)
            elif self.state not in _RUNNING:
                return
            else:  # the next trials are about to begin
                await self._connection._transport.sleep(_SOON)

    async def wait(self) -> AsyncSweepHandle:
        """Wait until all trials have ended; returns the handle itself."""
        async for _ in self.as_completed():
            pass
        return await self.refresh()

    async def frame(self) -> Any:
        """Return a pandas DataFrame with a row per job: trial, seed, settings, state and metric.

        The index is the id of the job. The column `seed` is the job's, also where the sweep varies
        it.
        """
        metric = self._status.metric
        varied = [at for at in self._status.parameters if at != "/seed"]
        names = _short_names(varied, {"id", "trial", "seed", "state", metric})
        columns: dict[str, list[Any]] = {
            name: [] for name in ("trial", "seed", *names.values(), "state", metric)
        }
        ids = []
        for trial in await self.trials():
            for job in trial.json["jobs"]:
                ids.append(job["id"])
                columns["trial"].append(trial.number)
                columns["seed"].append(job["seed"])
                for name, short in names.items():
                    columns[short].append(trial.parameters.get(name))
                columns["state"].append(job["state"])
                columns[metric].append(job["value"])
        return data_frame({"id": ids, **columns}, "id")

    async def best(self) -> SweepTrial | None:
        """Return the succeeded trial with the best value; None if there is none yet."""
        best = (await self.refresh()).status.best
        if best is None:
            return None
        return next(trial for trial in await self.trials() if trial.number == best["number"])

    async def pause(self) -> AsyncSweepHandle:
        """Begin no more trials for now. Raises Conflict for a sweep that stops."""
        return await self._change("pause")

    async def resume(self) -> AsyncSweepHandle:
        """Begin trials again. Raises Conflict."""
        return await self._change("resume")

    async def stop(self, running: RunningJobs = "keep") -> AsyncSweepHandle:
        """Begin no more trials and cancel the jobs that wait.

        `running` says what happens to jobs that run: keep, finish (now, with their results) or
        cancel.
        """
        return await self._change("stop", running)

    async def _change(self, verb: str, running: RunningJobs | None = None) -> AsyncSweepHandle:
        self._status = await self._connection._send(
            sweeps.calls.change_state(self.id, verb, running)
        )
        return self

    async def retry(
        self, *, failed: bool = False, deleted: bool = False, trials: Sequence[int] = ()
    ) -> AsyncSweepHandle:
        """Repeat jobs under the numbers of their trials; by default those that failed.

        Args:
            failed: Jobs that failed; they are retried under their ids.
            deleted: Jobs that were deleted; other jobs take their places.
            trials: Numbers of trials, of which all jobs that failed, were cancelled or were
                deleted.

        Raises Conflict if there is nothing to repeat or the sweep stops, InvalidInput.
        """
        call = sweeps.calls.retry_sweep(self.id, failed, deleted, trials)
        self._status = await self._connection._send(call)
        return self

    async def extend(
        self,
        trials: int | None = None,
        parallel: int | None = None,
        *,
        values: Mapping[str, Sequence[Any]] | None = None,
        seeds: Sequence[int] = (),
        limits: Mapping[str, Any] | None = None,
    ) -> AsyncSweepHandle:
        """Extend the sweep; one that has ended continues. Raises InvalidInput, Conflict.

        Args:
            trials: Number of trials in all.
            parallel: Trials at the same time.
            values: More values of settings that a grid varies, by JSON pointer.
            seeds: More seeds of each trial; those that failed get them when they are retried, and
                those that were stopped early get none.
            limits: All limits from now on: run_seconds (from the continuation), device_hours,
                target.
        """
        call = sweeps.calls.change_sweep(self.id, trials, parallel, values or {}, seeds, limits)
        self._status = await self._connection._send(call)
        return self

    async def delete(self) -> None:
        """Delete the sweep with its trials once it has ended; its jobs stay. Raises Conflict.

        The jobs are found by the group that is the id of the sweep.
        """
        await self._connection._send(sweeps.calls.delete_sweep(self.id))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AsyncSweepHandle):
            return NotImplemented
        return (self._connection.url, self.id) == (other._connection.url, other.id)

    def __hash__(self) -> int:
        return hash((self._connection.url, self.id))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.name!r} {self.state}>"


def _short_names(pointers: Sequence[str], taken: Collection[str]) -> dict[str, str]:
    """Return the last name of each pointer, or its whole path where that is not unique."""
    paths = {at: strict_json.pointer_keys(at) for at in pointers}
    ends = [*taken, *(path[-1] for path in paths.values())]
    return {
        at: path[-1] if ends.count(path[-1]) == 1 else strict_json.dotted(path)
        for at, path in paths.items()
    }
