"""The parts of an attempt that all its phases use: assignment, device, events, time line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Optional

from ipulse_core.events import Assignment
from ipulse_core.poplar_environment import poplar_environment
from ipulse_core.spec.resolved_spec import read_spec
from ipulse_core.states import Reason
from ipulse_worker.runner import provenance
from ipulse_worker.runner.backends.kinds import device_of
from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.clock import Timeline, utc_now
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.phase_progress import PhaseProgress
from ipulse_worker.runner.profile.profile import RunMetadata
from ipulse_worker.runner.results.manifest import spec_sha256
from ipulse_worker.runner.runner_start import RunnerStart
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.user_code.ops.ops import CustomOps
from ipulse_worker.runner.work_dir import WorkDir


class AttemptContext:
    """The assignment of an attempt, its device, and the places where it reports."""

    def __init__(
        self,
        assignment: Assignment,
        events: EventWriter,
        cancellation: Cancellation,
        timeline: Timeline,
        start: RunnerStart,
    ) -> None:
        """Read the assignment.

        Raises:
            InvalidInput: with all problems of the assignment.
        """
        self.spec = read_spec(assignment.spec)
        self.spec_sha256 = spec_sha256(self.spec)
        self.assignment = assignment
        self.work_dir = WorkDir(Path(assignment.work_dir))
        self.events = events
        self.cancellation = cancellation
        self.timeline = timeline
        # Times count from when the agent got the job: the job waits for the runner's start, too.
        timeline.begin_earlier(assignment.start_seconds)
        timeline.spans += start.spans_within(assignment.start_seconds)
        self.import_seconds = start.import_seconds
        self.started_at = utc_now()
        if self.spec.device.kind == "ipu":
            # An agent starts this process with these variables; a user may not.
            os.environ.update(poplar_environment(self.spec.device, assignment.work_dir))
        self.device = device_of(self.spec, events.log, cancellation.check)
        self.device.job_id = assignment.job_id
        self.device.directory = self.work_dir.path
        self.progress = self.device.on_progress = PhaseProgress(events)
        self._ops: Optional[CustomOps] = None
        self.message = ""  # the outcome in a sentence
        self.reason = Reason.COMPLETED

    def run_metadata(self, training: Training) -> RunMetadata:
        """Return the job, attempt, device and software that results belong to."""
        device = self.device.description()
        return RunMetadata(
            job_id=self.assignment.job_id,
            attempt=self.assignment.attempt,
            started_at=self.started_at,
            spec_sha256=self.spec_sha256,
            import_seconds=self.import_seconds,
            device=device,
            host=provenance.host(),
            versions=provenance.versions(device.compiler),
            platforms=training.platforms.to_json(),
            start=training.start,
        )
