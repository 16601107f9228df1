"""The handle of a sweep."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ipulse.client import SweepStatus, SweepTrial
from ipulse.spec.paths import dotted, find_path, pointer
from ipulse.sweeps import replica_seeds
from ipulse_core import strict_json
from ipulse_core.errors import NotFound
from ipulse_core.states import JobState

from .jobs.found_jobs import FoundJobs
from .jobs.job import JobHandle
from .optional import data_frame

if TYPE_CHECKING:
    from .connection import Connection

_POLL_SECONDS = 2.5  # the longest delay until a job that ended is noticed
_SOON = 0.2  # seconds
_RUNNING = ("running", "stopping")


class SweepHandle:
    """A sweep of a connection; its attributes are those of when the service was last asked."""

    def __init__(self, connection: Connection, status: SweepStatus) -> None:
        self._connection = connection
        self._status = status

    @property
    def id(self) -> str:
        """The id, which is also the group of its jobs."""
        return self._status.id

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

    def refresh(self) -> SweepHandle:
        """Ask the service for the present state; returns the handle itself."""
        self._status = self._connection.client.sweep(self.id)
        return self

    def trials(self) -> list[SweepTrial]:
        """Return the trials that have begun, with mean, deviation and interval over seeds."""
        return self._connection.client.sweep_trials(self.id)

    @property
    def jobs(self) -> FoundJobs:
        """The jobs of all trials that have begun."""
        return self._connection.jobs(f"group:{self.id}")

    def as_completed(self) -> Iterator[JobHandle]:
        """Yield the jobs as they end, until the sweep has ended or is paused.

        Failed and cancelled jobs are among them; deleted ones are not.
        """
        client = self._connection.client
        seen: set[str] = set()
        while True:
            self.refresh()
            waiting = ""
            for job in self._jobs_of_trials():
                if job["id"] in seen or job["state"] == "deleted":
                    continue
                if not JobState(job["state"]).is_terminal:
                    waiting = waiting or job["id"]
                    continue
                seen.add(job["id"])
                try:
                    ended = client.get(job["id"])
                except NotFound:  # it was deleted after its end
                    continue
                yield JobHandle(self._connection, ended)
            if waiting:
                with suppress(TimeoutError):
                    client.wait(waiting, _POLL_SECONDS)
            elif self.state not in _RUNNING:
                return
            else:
                time.sleep(_SOON)  # the next trials are about to begin

    def wait(self) -> SweepHandle:
        """Wait until all trials have ended; returns the handle itself."""
        for _ in self.as_completed():
            pass
        return self.refresh()

    def frame(self) -> Any:
        """Return a pandas DataFrame with a row per job: trial, seed, settings, state and metric."""
        names = _short_names(self._status.parameters)
        columns: dict[str, list[Any]] = {
            name: [] for name in ("trial", "seed", *names.values(), "state", self._status.metric)
        }
        ids = []
        for trial in self.trials():
            for job in trial.json["jobs"]:
                ids.append(job["id"])
                columns["trial"].append(trial.number)
                columns["seed"].append(job["seed"])
                for name, short in names.items():
                    columns[short].append(trial.parameters.get(name))
                columns["state"].append(job["state"])
                columns[self._status.metric].append(job["value"])
        return data_frame({"id": ids, **columns}, "id")

    def best(self) -> SweepTrial | None:
        """Return the succeeded trial with the best value; None if there is none yet."""
        best = self.refresh()._status.best
        if best is None:
            return None
        return next(trial for trial in self.trials() if trial.number == best["number"])

    def pause(self) -> SweepHandle:
        """Begin no more trials for now. Raises Conflict."""
        self._status = self._connection.client.pause_sweep(self.id)
        return self

    def resume(self) -> SweepHandle:
        """Begin trials again. Raises Conflict."""
        self._status = self._connection.client.resume_sweep(self.id)
        return self

    def retry(
        self, *, failed: bool = False, deleted: bool = False, trials: Sequence[int] = ()
    ) -> SweepHandle:
        """Repeat jobs under the numbers of their trials; by default those that failed.

        See Client.retry_sweep. Raises Conflict if there is nothing to repeat.
        """
        self._status = self._connection.client.retry_sweep(
            self.id, failed=failed, deleted=deleted, trials=trials
        )
        return self

    def stop(self) -> SweepHandle:
        """Begin no more trials and cancel the jobs that wait; those that run are kept."""
        self._status = self._connection.client.stop_sweep(self.id)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SweepHandle):
            return NotImplemented
        return (self._connection.url, self.id) == (other._connection.url, other.id)

    def __hash__(self) -> int:
        return hash((self._connection.url, self.id))

    def _repr_html_(self) -> str:
        html: str = self.frame()._repr_html_()
        return html

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.name!r} {self.state}>"

    def _jobs_of_trials(self) -> Iterator[dict[str, Any]]:
        for trial in self.trials():
            yield from trial.json["jobs"]


def sweep_document(
    spec: dict[str, Any],
    name: str | None,
    vary: Mapping[str, Any],
    seeds: int | Sequence[int],
    fields: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the definition of a sweep; a list of values is an axis of a grid.

    `fields` has others of the definition, and the metric and the goal of its objective.

    Raises InvalidSpec for a path that means no single field.
    """
    parameters = {
        pointer(find_path(spec, path)): (
            dict(values) if isinstance(values, Mapping) else {"values": list(values)}
        )
        for path, values in vary.items()
    }
    drawn = any("values" not in parameter for parameter in parameters.values())
    if isinstance(seeds, int):
        seeds = replica_seeds(spec, seeds)
    document = {
        "sweep": name or spec.get("name", "experiment"),
        "spec": spec,
        "parameters": parameters,
        "seeds": list(seeds),
        "method": "random" if drawn else "grid",
    }
    given = {key: value for key, value in fields.items() if value is not None}
    objective = {key: given.pop(key) for key in ("metric", "goal") if given.get(key)}
    return {**document, "objective": objective, **given}


def _short_names(pointers: Sequence[str]) -> dict[str, str]:
    """Return the last name of each pointer, or its whole path where several end so."""
    paths = {at: strict_json.pointer_keys(at) for at in pointers}
    ends = [path[-1] for path in paths.values()]
    return {
        at: path[-1] if ends.count(path[-1]) == 1 else dotted(path) for at, path in paths.items()
    }
