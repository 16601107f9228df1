"""The jobs of the fake service, for tests to inspect."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from ipulse_core.states import JobState


@dataclass
class Artifact:
    name: str
    role: str
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass
class Attempt:
    id: str
    fence: str
    agent: str
    is_superseded: bool = False  # the reaper has ended it, and another may have begun
    events: list[dict[str, Any]] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    outcome: dict[str, Any] | None = None
    lacking: dict[str, int] = field(default_factory=dict)

    def artifact(self, role: str) -> Artifact:
        return next(artifact for artifact in self.artifacts if artifact.role == role)

    def messages(self, stream: str | None = None) -> list[str]:
        """Return the logged messages."""
        return [
            event["message"]
            for event in self.events
            if event["kind"] == "log" and stream in (None, event["stream"])
        ]

    def logged(self, text: str) -> bool:
        return any(text in message for message in self.messages())


@dataclass
class Job:
    id: str
    spec: dict[str, Any]
    state: JobState = JobState.QUEUED
    is_finishing: bool = False
    start_from: Artifact | None = None  # a file of another job
    ops: list[Artifact] = field(default_factory=list)  # packages of custom ops
    start_mode: str = "continue"
    attempts: list[Attempt] = field(default_factory=list)
    checkpoint: Artifact | None = None

    @property
    def last(self) -> Attempt:
        return self.attempts[-1]

    @property
    def outcome(self) -> dict[str, Any]:
        assert self.last.outcome is not None
        return self.last.outcome


class Refusal(Exception):
    def __init__(self, status: int, code: str, detail: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail or code
