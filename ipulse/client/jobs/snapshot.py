"""The attributes of a job that a handle has without asking the service."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ipulse.client.pages import job_page
from ipulse_core.numbers import plain_number
from ipulse_core.states import JobState

from .resources import Job

_LONGEST = 300  # characters of a message in a headline


class JobSnapshot:
    """The state of a job when the service was last asked; `refresh` asks again."""

    def __init__(self, url: str, job: Job) -> None:
        self._url = url
        self._job = job

    @property
    def status(self) -> Job:
        """The job as the service described it last."""
        return self._job

    @property
    def id(self) -> str:
        """The id, such as job_5f3a9c0d7be14f2aa86c1e90."""
        return self._job.id

    @property
    def name(self) -> str:
        """The name for people."""
        return self._job.name

    @property
    def url(self) -> str:
        """The address of the job's page."""
        return job_page(self._url, self.id)

    @property
    def state(self) -> JobState:
        """The state, such as running or succeeded."""
        return self._job.state

    @property
    def reason(self) -> str | None:
        """Why the job is in its state, a value of ipulse_core.states.Reason, if that is known."""
        return self._job.reason

    @property
    def message(self) -> str:
        """One sentence for people about the state."""
        return self._job.message

    @property
    def succeeded(self) -> bool:
        """Whether the job has succeeded."""
        return self._job.succeeded

    @property
    def attempt(self) -> int:
        """The number of the present or last attempt; 0 before the first."""
        return self._job.attempt

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags."""
        return tuple(self._job.json.get("tags", ()))

    @property
    def group(self) -> str | None:
        """The group of jobs that it belongs to."""
        group: str | None = self._job.json.get("group")
        return group

    @property
    def created_at(self) -> datetime:
        """When the job was submitted."""
        return self._job.created_at

    @property
    def progress(self) -> dict[str, Any] | None:
        """The latest metric event, with the latest epoch that has ended as `evaluated`."""
        return self._job.progress

    @property
    def summary(self) -> dict[str, float]:
        """The final metrics, such as test_accuracy; empty before the job has ended."""
        return dict(self._job.summary or {})

    @property
    def phase_seconds(self) -> dict[str, float]:
        """The seconds of each phase that has ended."""
        return self._job.phase_seconds

    @property
    def headline(self) -> str:
        """One line for people: the result, the progress, or why the job failed."""
        if self.summary:
            shown = [name for name in ("test_accuracy", "test_loss") if name in self.summary]
            return ", ".join(_figure(name, self.summary[name]) for name in shown or self.summary)
        if self.state.is_terminal or self.progress is None:
            why = self.reason.replace("_", " ") if self.reason else ""
            return ": ".join(text for text in (why, self.message[:_LONGEST]) if text)
        progress = self.progress
        latest = (progress.get("evaluated") or {}).get("values", {})
        figures = [_figure(name, latest[name]) for name in ("test_accuracy",) if name in latest]
        return ", ".join([f"epoch {progress['epoch']} of {progress['epochs']}", *figures])

    @property
    def json(self) -> dict[str, Any]:
        """The whole answer of the service."""
        return self._job.json

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JobSnapshot):
            return NotImplemented
        return (self._url, self.id) == (other._url, other.id)

    def __hash__(self) -> int:
        return hash((self._url, self.id))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.name!r} {self.state.value}>"


def _figure(name: str, value: float) -> str:
    text = f"{100 * value:.1f} %" if "accuracy" in name else plain_number(value)
    return f"{name.replace('_', ' ')} {text}"
