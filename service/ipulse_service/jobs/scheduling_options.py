"""What a user asks for beside the experiment: how urgent it is and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass

from ipulse_core.states import ACTIVE, JobState


@dataclass(frozen=True)
class SchedulingOptions:
    """A priority and three limits in seconds, all on the database's clock."""

    priority: int = 0
    queue_seconds: int | None = None  # from the submission until an agent takes the job
    run_seconds: int | None = None  # with agents, all attempts together
    total_seconds: int | None = None  # from the submission to the end

    def deadline(
        self, state: JobState, created_at: int, now: int, *, started: bool, run_ms: int
    ) -> int | None:
        """When a job that enters a state now is late there; `run_ms` is what it ran before.

        All times are in milliseconds. A job that is asked to stop has no deadline any more: its
        agent has a grace, and a lease.
        """
        if state.is_terminal or state in (JobState.CANCELLING, JobState.PAUSING):
            return None
        moments = []
        if self.total_seconds is not None:
            moments.append(created_at + self.total_seconds * 1000)
        if self.queue_seconds is not None and state is JobState.QUEUED and not started:
            moments.append(created_at + self.queue_seconds * 1000)
        if self.run_seconds is not None and state in ACTIVE:
            moments.append(now + self.run_seconds * 1000 - run_ms)
        return min(moments, default=None)

    def deadline_message(self, state: JobState, created_at: int, now: int) -> str:
        """Says which limit a job has passed that is late in a state."""
        if self.total_seconds is not None and now >= created_at + self.total_seconds * 1000:
            return f"it was to end within {self.total_seconds} s of its submission"
        if state is JobState.QUEUED:
            return f"no agent took it within {self.queue_seconds} s"
        return f"it ran for its {self.run_seconds} s"
