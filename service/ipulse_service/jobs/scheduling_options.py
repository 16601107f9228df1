"""Options of a submission: priority and time limits."""

from __future__ import annotations

from dataclasses import dataclass

from ipulse_core.states import ACTIVE, JobState


@dataclass(frozen=True)
class SchedulingOptions:
    """A priority and three limits in seconds on the steady clock."""

    priority: int = 0
    queue_seconds: int | None = None  # from the submission until an agent takes the job
    run_seconds: int | None = None  # held by agents, all attempts together
    total_seconds: int | None = None  # from the submission, or the last retry, to the end

    def deadline(
        self, state: JobState, since: int, now: int, *, started: bool, run_ms: int
    ) -> int | None:
        """Returns the deadline of a job that enters a state now, after `run_ms` of running.

        All times are in milliseconds; the limits count from `since`. A job that is asked to stop
        has no deadline: the grace and the lease of its agent limit it.
        """
        if state.is_terminal or state in (JobState.CANCELLING, JobState.PAUSING):
            return None
        moments = []
        if self.total_seconds is not None:
            moments.append(since + self.total_seconds * 1000)
        if self.queue_seconds is not None and state is JobState.QUEUED and not started:
            moments.append(since + self.queue_seconds * 1000)
        if self.run_seconds is not None and state in ACTIVE:
            moments.append(now + self.run_seconds * 1000 - run_ms)
        return min(moments, default=None)

    def deadline_message(self, state: JobState, since: int, now: int, *, retried: bool) -> str:
        """Returns a sentence that names the limit that the job exceeded."""
        if self.total_seconds is not None and now >= since + self.total_seconds * 1000:
            begin = "last retry" if retried else "submission"
            return f"The job did not end within {self.total_seconds} s of its {begin}."
        if state is JobState.QUEUED:
            return f"No agent started the job within {self.queue_seconds} s."
        return f"The job ran for longer than {self.run_seconds} s."
