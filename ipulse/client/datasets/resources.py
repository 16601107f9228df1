"""Data sets of the service as the client returns them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ipulse.times import time_of

# Called with the bytes that the service has, and the size of the file.
UploadProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class DatasetUpload:
    """A file on its way to the service."""

    id: str
    size: int  # bytes
    offset: int  # bytes that the service has
    complete: bool

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> DatasetUpload:
        """Make an upload of the service's JSON."""
        return cls(
            id=value["id"],
            size=int(value["size"]),
            offset=int(value["offset"]),
            complete=bool(value["complete"]),
        )


@dataclass(frozen=True)
class ImportedNetwork:
    """A network of a NIR file: a spec for `submit`, and its weights, which the service keeps."""

    spec: dict[str, Any]  # of version 2; network.initial.upload names the weights
    notes: list[str]  # what was assumed, and what the spec expresses by other means
    arrays: dict[str, list[int]]  # shapes of the weights by name
    weights_sha256: str

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ImportedNetwork:
        """Make an imported network of the service's JSON."""
        return cls(
            spec=value["spec"],
            notes=[str(note) for note in value["notes"]],
            arrays=value["arrays"],
            weights_sha256=value["weights"]["sha256"],
        )


@dataclass(frozen=True)
class DatasetVersion:
    """A version of a data set; `reference` is what `data.dataset` of a spec may say."""

    dataset: str
    version: int
    reference: str
    sha256: str
    size: int  # bytes
    state: str  # checking, ready, refused or deleted
    kind: str | None  # `data.kind` of the specs that may use it
    refusal: str | None
    facts: dict[str, Any] | None  # samples, channels, classes, steps, label counts
    previews: list[int]  # samples that can be looked at
    jobs: int  # that use it
    created_at: datetime
    json: dict[str, Any] = field(repr=False, compare=False)  # as the service sent it

    @property
    def warnings(self) -> list[str]:
        """What may be a mistake in the file; a former service returns none."""
        return list((self.facts or {}).get("warnings", ()))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> DatasetVersion:
        """Make a version of the service's JSON."""
        return cls(
            dataset=value["dataset"],
            version=int(value["version"]),
            reference=value["reference"],
            sha256=value["sha256"],
            size=int(value["size"]),
            state=value["state"],
            kind=value["kind"],
            refusal=value["refusal"],
            facts=value["facts"],
            previews=list(value["previews"]),
            jobs=int(value["jobs"]),
            created_at=time_of(value["created_at"]),
            json=value,
        )


@dataclass(frozen=True)
class PushedOp:
    """A custom op; `reference` is what `network.layers[].op` of a spec names."""

    name: str
    sha256: str  # of its source package
    reference: str
    size: int  # bytes of the package
    backends: list[str]  # reference, kernel, poplar
    created_at: datetime
    pushed_by: str | None  # name of the token; None: an older service
    jobs: int  # that name it, those that are over too
    json: dict[str, Any] = field(repr=False, compare=False)  # as the service sent it

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PushedOp:
        """Make an op of the service's JSON."""
        return cls(
            name=value["name"],
            sha256=value["sha256"],
            reference=value["reference"],
            size=int(value["size"]),
            backends=list(value["backends"]),
            created_at=time_of(value["created_at"]),
            pushed_by=value.get("pushed_by"),
            jobs=int(value.get("jobs", 0)),
            json=value,
        )
