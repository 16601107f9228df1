"""The rules of the worker API that an agent could break: fences, leases, gaps in event numbers,
illegal phases, digests, the manifest last, a complete result before `completed`.
"""

from __future__ import annotations

import re
import threading
from base64 import b64decode
from collections.abc import Iterator
from typing import Annotated, Any

from ipulse.log_lines import LogLines
from ipulse.models import ByKind, validate
from ipulse_core.errors import IllegalTransition, InvalidInput
from ipulse_core.events import (
    CheckpointEvent,
    Event,
    LogEvent,
    MetricEvent,
    PhaseEvent,
    ProgressEvent,
)
from ipulse_core.states import (
    COMPLETE,
    INFRASTRUCTURE,
    OUTCOMES,
    STATE_OF_PHASE,
    JobState,
    Phase,
    Reason,
    check_transition,
)

from .fake_jobs import Artifact, Attempt, Job, Refusal

DEADLINE = 60.0  # seconds until a test that waits for an event is given up
FOR_THE_SERVICE = (PhaseEvent, ProgressEvent, MetricEvent, LogEvent, CheckpointEvent)
EVENT: Any = Annotated[Event | LogLines, ByKind()]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class FakeRules:
    """The jobs and the operations of agents; the lock `changed` guards them."""

    def __init__(self, lease_seconds: float, heartbeat_seconds: float) -> None:
        self.lease_seconds = lease_seconds
        self.heartbeat_seconds = heartbeat_seconds
        self.jobs: dict[str, Job] = {}
        self.changed = threading.Condition()
        self.is_down = False
        self.refuse_manifests = False

    def claim(self, body: dict[str, Any]) -> dict[str, Any]:
        job = self.jobs.get(body["job_id"])
        if job is None:
            raise Refusal(404, "not_found")
        for attempt in job.attempts:
            if attempt.fence == body.get("fence") and attempt.outcome is None:
                return self._answer(job, attempt)
        if job.state is not JobState.QUEUED or "cpu" not in body["device_kinds"]:
            raise Refusal(409, "not_claimable")
        self._move(job, JobState.PREPARING)
        number = len(job.attempts) + 1
        attempt = Attempt(
            id=f"att_{job.id}_{number}",
            fence=body.get("fence") or f"fence-{job.id}-{number}",
            agent=body["agent"],
        )
        job.attempts.append(attempt)
        return self._answer(job, attempt)

    def _answer(self, job: Job, attempt: Attempt) -> dict[str, Any]:
        return {
            "job_id": job.id,
            "attempt_id": attempt.id,
            "attempt": len(job.attempts),
            "fence": attempt.fence,
            "lease_seconds": self.lease_seconds,
            "heartbeat_seconds": self.heartbeat_seconds,
            "spec": job.spec,
            "start_from": job.start_from
            and {
                "mode": job.start_mode,
                "sha256": job.start_from.sha256,
                "size": len(job.start_from.content),
                "name": job.start_from.name,
            },
            "ops": [
                {"name": op.name, "sha256": op.sha256, "size": len(op.content)} for op in job.ops
            ],
            "checkpoint": job.checkpoint
            and {
                "artifact_id": "art_checkpoint",
                "sha256": job.checkpoint.sha256,
                "size": len(job.checkpoint.content),
                "name": job.checkpoint.name,
            },
        }

    def heartbeat(self, job: Job, attempt: Attempt) -> dict[str, Any]:
        return {
            "cancel": job.state is JobState.CANCELLING,
            "finish": job.is_finishing,
            "lease_seconds": self.lease_seconds,
        }

    def orders_of(self, attempt_id: str, fence: str) -> dict[str, bool]:
        """Wait until the job is to stop; raise Refusal once the attempt has lost it."""
        while True:
            job, _ = self.held(attempt_id, fence)
            cancel = job.state is JobState.CANCELLING
            if cancel or job.is_finishing or self.is_down:
                return {"cancel": cancel, "finish": job.is_finishing}
            self.changed.wait(DEADLINE)

    def record(self, job: Job, attempt: Attempt, body: dict[str, Any]) -> dict[str, Any]:
        expected = len(attempt.events) + 1
        if body["first"] > expected:
            raise Refusal(409, "sequence_gap", f"event {expected} is expected next")
        try:
            events = [validate(EVENT, value) for value in body["events"]]
        except InvalidInput as error:
            raise Refusal(422, "invalid_input", str(error)) from error
        for event in list(_one_by_one(events))[expected - body["first"] :]:
            if not isinstance(event, FOR_THE_SERVICE):
                raise Refusal(422, "invalid_input", f"{event.kind} is not for the service")
            if isinstance(event, PhaseEvent) and job.state is not JobState.CANCELLING:
                state = STATE_OF_PHASE[Phase(event.phase)]
                if state is not job.state:
                    self._move(job, state)
            attempt.events.append(event.to_json())
        return {"next": len(attempt.events) + 1}

    def store(self, attempt: Attempt, name: str, query: dict[str, str], content: bytes) -> Artifact:
        artifact = Artifact(name, query["role"], content)
        if not NAME.fullmatch(name):
            raise Refusal(422, "invalid_input", "name")
        if int(query["size"]) != len(content) or query["sha256"] != artifact.sha256:
            raise Refusal(422, "wrong_content")
        if any(other.role == "manifest" for other in attempt.artifacts):
            raise Refusal(409, "conflict", "the manifest comes last")
        if artifact.role == "checkpoint":
            results = [file for file in attempt.artifacts if file.role != "checkpoint"]
            attempt.artifacts[:] = results
        attempt.artifacts.append(artifact)
        return artifact

    def finish(self, job: Job, attempt: Attempt, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("events"):
            self.record(job, attempt, body)
        if manifest := body.get("manifest"):
            if self.refuse_manifests:
                raise Refusal(503, "artifact_store", "the disk is full")
            content = b64decode(manifest["base64"], validate=True)
            query = {"role": "manifest", "size": str(len(content)), "sha256": manifest["sha256"]}
            self.store(attempt, manifest["name"], query, content)
        reason = Reason(body["reason"])
        is_complete = any(artifact.role == "manifest" for artifact in attempt.artifacts)
        if reason in COMPLETE and not is_complete:
            raise Refusal(409, "incomplete")
        attempt.outcome = _outcome(body)
        attempt.lacking = body.get("lacking", {})
        if job.state is JobState.CANCELLING and reason not in COMPLETE:
            self._move(job, JobState.CANCELLED)
        elif reason in INFRASTRUCTURE:
            self._move(job, JobState.RETRY_WAIT)
            checkpoints = [file for file in attempt.artifacts if file.role == "checkpoint"]
            job.checkpoint = checkpoints[-1] if checkpoints else job.checkpoint
            self._move(job, JobState.QUEUED)
        else:
            self._move(job, OUTCOMES[reason])
        return {"object": "job", "id": job.id, "state": job.state.value}

    def held(self, attempt_id: str, fence: str) -> tuple[Job, Attempt]:
        for job in self.jobs.values():
            for attempt in job.attempts:
                if attempt.id == attempt_id:
                    stale = (
                        attempt.fence != fence
                        or attempt.outcome is not None
                        or attempt is not job.last
                        or attempt.is_superseded
                    )
                    if stale:
                        raise Refusal(409, "stale_token")
                    return job, attempt
        raise Refusal(404, "not_found")

    def finished(self, attempt_id: str, fence: str, body: dict[str, Any]) -> Job | None:
        """Return the job if it already has this outcome: a repeated report is accepted."""
        for job in self.jobs.values():
            for attempt in job.attempts:
                this = (attempt_id, fence, _outcome(body))
                if (attempt.id, attempt.fence, attempt.outcome) == this:
                    return job
        return None

    def _move(self, job: Job, state: JobState) -> None:
        try:
            check_transition(job.state, state)
        except IllegalTransition as error:
            raise Refusal(409, "illegal_transition", error.message) from error
        job.state = state


def _outcome(body: dict[str, Any]) -> dict[str, Any]:
    """Return the reported outcome without the events of the same request."""
    return {name: body[name] for name in ("reason", "message", "summary")}


def _one_by_one(events: list[Any]) -> Iterator[Any]:
    for event in events:
        if isinstance(event, LogLines):
            yield from (LogEvent(text, event.level, event.stream) for text in event.messages)
        else:
            yield event
