"""Requests of agents."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from ipulse.log_lines import length
from ipulse.models import ByKind, Field, Integer, ListOf, StrictModel, Text, few
from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.events import FILE_NAME, DoneEvent, described, integer
from ipulse_core.limits import CONTROL, DECEPTIVE, escape_deceptive
from ipulse_core.manifest import SHA256
from ipulse_core.messages import (
    EVENTS_PER_COMMIT,
    EVENTS_PER_REQUEST,
    MANIFEST_BYTES,
)
from ipulse_core.registry.versions import VERSIONS
from ipulse_core.states import Reason
from ipulse_service.http.schemas.base import JOB_ID, METRIC, example
from ipulse_service.jobs.artifacts import NewArtifact
from ipulse_service.jobs.attempt_end import AttemptEnd, NewManifest
from ipulse_service.jobs.worker_reports import Reportable

MEDIA_TYPE = r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(; ?charset=[A-Za-z0-9-]+)?"
MAX_MEDIA_TYPE = 128  # characters

# A limit next to a field's default would be replaced by that of `Text` or `Integer`.
DeviceKind = Annotated[Text, Field(max_length=32)]
DeviceKinds = Annotated[ListOf[DeviceKind], Field(min_length=1, max_length=16), few(16)]
Events = ListOf[Annotated[Reportable, ByKind()]]
# One segment of a path: the owner drains and removes agents by their names.
AgentName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        pattern=rf"^[^/\s{CONTROL}{DECEPTIVE}]*$",
        description="Host and process, for people.",
    ),
]


class ClaimRequest(StrictModel):
    """An agent's request for a job."""

    model_config = example(
        job_id=JOB_ID,
        agent="worker-1-4711",
        device_kinds=["cpu"],
        fence="a-random-text-that-only-this-agent-knows",
        spec_versions=[1, 2],
    )

    job_id: Annotated[Text, Field(max_length=64)] | None = Field(
        default=None, description="A job that is queued; null: the first that the agent can run."
    )
    agent: AgentName
    device_kinds: DeviceKinds = Field(description="Kinds of devices that the agent can use.")
    fence: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{32,128}$")] | None = Field(
        default=None,
        description="A random text that the agent has made for this claim: the fencing token of "
        "the attempt. A repeated request gets the same attempt.",
    )
    spec_versions: Annotated[
        ListOf[Annotated[Integer, Field(ge=1)]], Field(min_length=1, max_length=16)
    ] = Field(
        default=(1,),
        description="Versions of specs that the agent runs; it gets the newest of them that the "
        "service knows, and never another one.",
    )

    @property
    def spec_version(self) -> int | None:
        """The version in which the agent gets a spec; None if there is none."""
        return max(set(self.spec_versions) & set(VERSIONS), default=None)


def _at_most(most: int) -> BeforeValidator:
    """Returns a check of the number of events before each of them is checked."""

    def check(events: Any) -> Any:
        count = sum(map(_length, events)) if isinstance(events, (list, tuple)) else 0
        if count > most:
            detail = f"must have at most {most:,} events, counting lines singly; got {count:,}"
            raise PydanticCustomError("wrong_length", "{detail}", {"detail": detail})
        return events

    return BeforeValidator(check)


def _length(event: Any) -> int:
    messages = event.get("messages") if isinstance(event, dict) else None
    return max(1, len(messages)) if isinstance(messages, list) else length([event])


class EventBatch(StrictModel):
    """Consecutive events of an attempt."""

    model_config = example(
        first=7,
        events=[
            {"kind": "phase", "phase": "run"},
            {"kind": "metric", **METRIC},
            {"kind": "log", "message": "epoch 3: loss 0.41", "level": "info", "stream": "runner"},
            {"kind": "lines", "messages": ["a warning", "and another"], "stream": "stderr"},
        ],
    )

    first: Annotated[Integer, Field(ge=1)] = Field(
        description="Attempt-local number of the first event, from 1."
    )
    events: Annotated[
        Events,
        Field(max_length=EVENTS_PER_REQUEST),
        few(EVENTS_PER_REQUEST),
        _at_most(EVENTS_PER_REQUEST),
    ] = Field(description="The events in order.")


class ManifestFile(StrictModel):
    """The last file of an attempt; its presence means that the result is complete."""

    name: str = Field(pattern=FILE_NAME, description="Name of the file.")
    sha256: str = Field(pattern=SHA256, description="SHA-256 of its content.")
    base64: Annotated[Text, Field(max_length=-(-MANIFEST_BYTES // 3) * 4)] = Field(
        description="Its content in base64."
    )
    media_type: str = Field(
        default="application/json",
        max_length=MAX_MEDIA_TYPE,
        pattern=f"^{MEDIA_TYPE}$",
        description="Its media type.",
    )


@dataclass(frozen=True)
class FinishRequest(DoneEvent):
    """The end of an attempt, with the events and the manifest that were not sent before."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        **DoneEvent.__pydantic_config__,
        **example(
            reason="completed",
            message="",
            summary={"accuracy": 0.97},
            first=12,
            events=[{"kind": "phase", "phase": "report"}],
            manifest={
                "name": "manifest.json",
                "sha256": "de0d5c1d1a8e641b7b33343d6e48c1d5752d8f0f4f5a7fe82bb7035908f364ed",
                "base64": "eyJmaWxlcyI6IFtdfQo=",
                "media_type": "application/json",
            },
            lacking={},
        ),
    }

    first: int = integer("Attempt-local number of the first event, from 1.", default=1, ge=1)
    events: Annotated[
        Events,
        Field(max_length=EVENTS_PER_COMMIT),
        few(EVENTS_PER_COMMIT),
        _at_most(EVENTS_PER_COMMIT),
    ] = described("The last events in order.", default=())
    manifest: ManifestFile | None = described(
        "The manifest, unless it is stored already.", default=None
    )
    lacking: Annotated[
        dict[Annotated[str, Field(max_length=64)], Annotated[Integer, Field(ge=0, le=2**62)]],
        Field(max_length=16),
    ] = described(
        "What the agent's machine had of what was not enough for the job, by capability.",
        factory=dict,
    )


def attempt_end(request: FinishRequest) -> AttemptEnd:
    """Returns the end that a request reports.

    Raises InvalidInput for an unknown reason and for a manifest that is not in base64.
    """
    return AttemptEnd(_outcome(request), request.first, request.events, _manifest(request.manifest))


def _outcome(request: FinishRequest) -> AttemptOutcome:
    try:
        message = escape_deceptive(request.message)
        reason, summary = Reason(request.reason), dict(request.summary)
        return AttemptOutcome(reason, message, summary, request.lacking)
    except ValueError as error:
        detail = f"must be one of {', '.join(Reason)}"
        raise InvalidInput([Problem("/reason", "not_a_choice", detail)]) from error


def _manifest(manifest: ManifestFile | None) -> NewManifest | None:
    if manifest is None:
        return None
    try:
        content = b64decode(manifest.base64, validate=True)
    except ValueError as error:
        raise InvalidInput([Problem("/manifest/base64", "wrong_form", str(error))]) from error
    artifact = NewArtifact(manifest.name, "manifest", manifest.media_type)
    return NewManifest(artifact, content, manifest.sha256)
