"""Differences of profiles as the API returns them."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from ipulse_core.states import JobState
from ipulse_service.http.schemas.base import JOB_ID, example
from ipulse_service.jobs.job import JobRow
from ipulse_service.reading.limits import MOST_CHANGES

_CHANGE = {"name": "run", "before": 4.0, "after": 5.0, "change": 1.0, "relative": 0.25}
_LIST = {"total": 1, "changes": [_CHANGE]}
_OF_TILES = ("figures", "programs", "layers", "tile_memory", "tile_cycles")
_COPIES = {
    "is_to_host": False,
    "executions": 20,
    "total_bytes": 2048,
    "cycles": 130,
    "host_cycles": 100,
    "sync_cycles": 30,
}
_JOB = {"id": JOB_ID, "name": "digits", "state": "succeeded", "device": "cpu"}


class ProfiledJob(BaseModel):
    """A job in a comparison of profiles."""

    model_config = example(**_JOB)

    id: str
    name: str
    state: JobState
    device: str

    @classmethod
    def of(cls, job: JobRow) -> Self:
        """Returns it for a row."""
        return cls(id=job.id, name=job.name, state=job.state, device=job.device)


class ProfileChange(BaseModel):
    """A value of both profiles; null where a profile does not have it."""

    model_config = example(**_CHANGE)

    name: str
    before: float | None
    after: float | None
    change: float = Field(description="The difference; a missing value counts as 0.")
    relative: float | None = Field(description="The relative change; null from nothing or 0.")


class ProfileChanges(BaseModel):
    """The largest changes of a kind."""

    model_config = example(**_LIST)

    total: int = Field(description="How many there are in all.")
    changes: list[ProfileChange] = Field(max_length=MOST_CHANGES)


class TileDiff(BaseModel):
    """The differences of two programs on tiles; only `figures` also has what is equal."""

    figures: ProfileChanges
    programs: ProfileChanges = Field(description="Cycles by step of the program.")
    layers: ProfileChanges = Field(description="Cycles by layer.")
    tile_memory: ProfileChanges = Field(description="Bytes by tile.")
    tile_cycles: ProfileChanges = Field(description="Compute cycles by tile.")
    liveness: list[list[int]] = Field(
        description="Bytes of all tiles that are not always live, by step; of a, then of b."
    )


class ProfileDiff(BaseModel):
    """The difference of two profiles."""

    model_config = example(
        a=_JOB,
        b=_JOB,
        unlike=[],
        **dict.fromkeys(("speed", "phases", "step", "layers", "memory"), _LIST),
        tiles={**dict.fromkeys(_OF_TILES, _LIST), "liveness": [[624, 820], [624, 900]]},
    )

    a: ProfiledJob
    b: ProfiledJob
    unlike: list[str] = Field(description="How the targets of the two programs differ, in words.")
    speed: ProfileChanges = Field(description="Samples per second of training steps.")
    phases: ProfileChanges = Field(description="Seconds of the phases of the attempt.")
    step: ProfileChanges = Field(description="Mean seconds of the parts of a training step.")
    layers: ProfileChanges = Field(description="Mean seconds of each layer in a step, on a CPU.")
    memory: ProfileChanges = Field(description="Bytes by use.")
    tiles: TileDiff | None = Field(description="Null unless both jobs ran on emulator or IPU.")


class HostCopiesInfo(BaseModel):
    """The copies between host and device in one direction, over all runs."""

    is_to_host: bool = Field(description="Else to the device.")
    executions: int = Field(description="Number of copies.")
    total_bytes: int
    cycles: int = Field(description="Cycles of all kinds.")
    host_cycles: int = Field(description="Of these, cycles of exchange with the host.")
    sync_cycles: int = Field(description="Of these, cycles of synchronisation.")


class ProfileCopies(BaseModel):
    """The copies of a profile by direction."""

    model_config = example(copies=[_COPIES])

    copies: list[HostCopiesInfo] = Field(
        description="To the device, then to the host; empty if the profile has no bytes of copies."
    )
