"""What agents say to the service, as it arrives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ipulse.log_lines import length
from ipulse_core.errors import Problem
from ipulse_core.events import NAME, DoneEvent
from ipulse_core.messages import EVENTS_PER_COMMIT, EVENTS_PER_REQUEST, MANIFEST_BYTES
from ipulse_core.schema import described
from ipulse_service.jobs.worker_reports import Reportable

MEDIA_TYPE = r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(; ?charset=[A-Za-z0-9-]+)?"


@dataclass(frozen=True)
class ClaimRequest:
    """An agent asks for a job."""

    job_id: str = described("The job.", max_length=64)
    agent: str = described("A name for people: host and process.", max_length=128)
    device_kinds: tuple[str, ...] = described(
        "Kinds of devices the agent can use.", min_items=1, max_items=16, max_length=32
    )


@dataclass(frozen=True)
class Announcement:
    """An agent is there."""

    agent: str = described("A name for people: host and process.", max_length=128)
    device_kinds: tuple[str, ...] = described(
        "Kinds of devices the agent can use.", min_items=1, max_items=16, max_length=32
    )
    quarantined: tuple[str, ...] = described(
        "Those of them that it leaves alone after an error of the device.",
        factory=tuple,
        max_items=16,
        max_length=32,
    )


@dataclass(frozen=True)
class EventBatch:
    """Some events of an attempt, without gaps."""

    first: int = described("Attempt-local number of the first one, from 1.", ge=1)
    events: tuple[Reportable, ...] = described("The events in order.", max_items=EVENTS_PER_REQUEST)

    def problems(self) -> Iterator[Problem]:
        yield from _too_many(self.events, EVENTS_PER_REQUEST)


@dataclass(frozen=True)
class ManifestFile:
    """The last file of an attempt, which says that its result is complete."""

    name: str = described("Its name.", pattern=NAME)
    sha256: str = described("Its digest.", pattern="[0-9a-f]{64}")
    base64: str = described("Its content.", max_length=-(-MANIFEST_BYTES // 3) * 4)
    media_type: str = described(
        "Its media type.", default="application/json", max_length=128, pattern=MEDIA_TYPE
    )


@dataclass(frozen=True)
class Finish(DoneEvent):
    """How an attempt ended, and what had not been told before."""

    first: int = described("Attempt-local number of the first event, from 1.", default=1, ge=1)
    events: tuple[Reportable, ...] = described(
        "Its last events in order.", factory=tuple, max_items=EVENTS_PER_COMMIT
    )
    manifest: ManifestFile | None = described("Unless it is stored already.", default=None)

    def problems(self) -> Iterator[Problem]:
        yield from _too_many(self.events, EVENTS_PER_COMMIT)


def _too_many(events: Sequence[Reportable], most: int) -> Iterator[Problem]:
    count = length(events)
    if count > most:
        detail = f"must have at most {most:,} events, each line for one; got {count:,}"
        yield Problem("/events", "wrong_length", detail)
