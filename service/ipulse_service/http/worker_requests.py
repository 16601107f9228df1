"""Requests of agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from ipulse.log_lines import length
from ipulse.models import ByKind, Field, Integer, ListOf, Model, Text
from ipulse_core.events import FILE_NAME, DoneEvent, described, integer
from ipulse_core.manifest import SHA256
from ipulse_core.messages import EVENTS_PER_COMMIT, EVENTS_PER_REQUEST, MANIFEST_BYTES
from ipulse_service.jobs.worker_reports import Reportable

MEDIA_TYPE = r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(; ?charset=[A-Za-z0-9-]+)?"

DeviceKind = Annotated[Text, Field(max_length=32)]
DeviceKinds = Annotated[ListOf[DeviceKind], Field(min_length=1, max_length=16)]
Events = ListOf[Annotated[Reportable, ByKind()]]
AgentName = Annotated[Text, Field(max_length=128, description="Host and process, for people.")]


class ClaimRequest(Model):
    """An agent's request for a job."""

    job_id: Text = Field(max_length=64, description="The job.")
    agent: AgentName
    device_kinds: DeviceKinds = Field(description="Kinds of devices that the agent can use.")


class Announcement(Model):
    """An agent's registration."""

    agent: AgentName
    device_kinds: DeviceKinds = Field(description="Kinds of devices that the agent can use.")
    quarantined: ListOf[DeviceKind] = Field(
        default=(),
        max_length=16,
        description="Kinds that the agent does not use at present, after an error of the device.",
    )


def _at_most(most: int) -> Callable[[Sequence[Reportable]], Sequence[Reportable]]:
    def check(events: Sequence[Reportable]) -> Sequence[Reportable]:
        count = length(events)
        if count > most:
            detail = f"must have at most {most:,} events, counting lines singly; got {count:,}"
            raise PydanticCustomError("wrong_length", "{detail}", {"detail": detail})
        return events

    return check


class EventBatch(Model):
    """Consecutive events of an attempt."""

    first: Integer = Field(ge=1, description="Attempt-local number of the first event, from 1.")
    events: Annotated[Events, AfterValidator(_at_most(EVENTS_PER_REQUEST))] = Field(
        max_length=EVENTS_PER_REQUEST, description="The events in order."
    )


class ManifestFile(Model):
    """The last file of an attempt; its presence means that the result is complete."""

    name: str = Field(pattern=FILE_NAME, description="Name of the file.")
    sha256: str = Field(pattern=SHA256, description="SHA-256 of its content.")
    base64: Text = Field(
        max_length=-(-MANIFEST_BYTES // 3) * 4, description="Its content in base64."
    )
    media_type: str = Field(
        default="application/json",
        max_length=128,
        pattern=f"^{MEDIA_TYPE}$",
        description="Its media type.",
    )


@dataclass(frozen=True)
class Finish(DoneEvent):
    """The end of an attempt, with the events and the manifest that were not sent before."""

    first: int = integer("Attempt-local number of the first event, from 1.", default=1, ge=1)
    events: Annotated[Events, AfterValidator(_at_most(EVENTS_PER_COMMIT))] = described(
        "The last events in order.", default=(), max_length=EVENTS_PER_COMMIT
    )
    manifest: ManifestFile | None = described(
        "The manifest, unless it is stored already.", default=None
    )
