"""Data sets, their versions and uploads as the API returns them."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from ipulse.models import StrictModel
from ipulse_core.limits import PRINTABLE
from ipulse_service.datasets.facts import DatasetFacts, Kind
from ipulse_service.datasets.listing import DatasetRow
from ipulse_service.datasets.uploads import UploadRow
from ipulse_service.datasets.versions import VersionRow
from ipulse_service.db.access import Access
from ipulse_service.db.engine import rfc3339
from ipulse_service.db.version_states import CHECKING
from ipulse_service.http.schemas.base import SHA256, Digest, Timestamp, example

UPLOAD_ID = "upl_1a2b3c4d5e6f708192a3b4c5"
_MAX_SIZE = 2**53 - 1  # the largest integer that every JSON library reads exactly
_FACTS = {
    "format": "npz",
    "form": "spikes",
    "samples": 1000,
    "test_samples": None,
    "channels": 30,
    "classes": 2,
    "steps": 50,
    "first_ms": None,
    "last_ms": None,
    "time_type": None,
    "has_counts": False,
    "events": 150_000,
    "events_per_sample": {"mean": 150.0, "min": 119, "max": 192},
    "label_counts": [
        {"label": 0, "samples": 500, "test_samples": None},
        {"label": 1, "samples": 500, "test_samples": None},
    ],
    "warnings": ["channel 0 has no event: channels count from 0"],
}
_VERSION: dict[str, Any] = {
    "dataset": "mine",
    "version": 3,
    "reference": "mine@3",
    "sha256": SHA256,
    "size": 1_048_576,
    "state": "ready",
    "kind": "npz",
    "refusal": None,
    "facts": _FACTS,
    "previews": [0, 17, 33],
    "jobs": 4,
    "agents": ["worker-1-4711"],
    "project": "default",
    "owner": "alice",
    "allowed": ["delete"],
    "created_at": "2026-01-31T12:00:00.000Z",
    "checked_at": "2026-01-31T12:00:01.000Z",
}


class UploadRequest(StrictModel):
    """The announcement of a file."""

    model_config = example(size=1_048_576, sha256=SHA256, purpose="dataset")

    size: int = Field(ge=1, le=_MAX_SIZE, description="Bytes.")
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of the whole file.")
    purpose: Literal["dataset", "weights", "archive", "program", "op"] = Field(
        default="dataset",
        description="dataset: a version of a data set; weights: network.initial.upload of a spec; "
        "archive: of a job, for `POST /v1/jobs:import`; program: the source package of a spec; "
        "op: that of a custom op, which `GET /v1/ops` then lists. The last two need the right to "
        "submit code.",
    )


class UploadInfo(BaseModel):
    """A file that is uploaded."""

    model_config = example(
        id=UPLOAD_ID,
        purpose="dataset",
        size=1_048_576,
        sha256=SHA256,
        offset=65_536,
        complete=False,
        expires_at="2026-02-01T12:00:00.000Z",
    )

    id: str
    purpose: str
    size: int = Field(description="Bytes.")
    sha256: Digest
    offset: int = Field(description="Bytes that the service has.")
    complete: bool = Field(description="True if the service has all of them.")
    expires_at: Timestamp | None = Field(description="When the upload is forgotten.")

    @classmethod
    def from_row(cls, upload: UploadRow, offset: int) -> Self:
        """Returns the model of an upload."""
        return cls(
            id=upload.id,
            purpose=upload.purpose,
            size=upload.size,
            sha256=upload.sha256,
            offset=offset,
            complete=upload.is_complete,
            expires_at=rfc3339(upload.expires_at),
        )


class VersionRequest(StrictModel):
    """A request for a new version of a data set."""

    model_config = example(upload_id=UPLOAD_ID)

    upload_id: str = Field(
        max_length=64, pattern=PRINTABLE, description="The id of a complete upload."
    )


class VersionInfo(BaseModel):
    """A version of a data set."""

    model_config = example(**_VERSION)

    dataset: str = Field(description="Name of the data set.")
    version: int
    reference: str = Field(description="How specs name this version: `data.dataset`.")
    sha256: Digest
    size: int = Field(description="Bytes.")
    state: Literal["checking", "ready", "refused", "deleted"]
    kind: Kind | None = Field(description="`data.kind` of specs; null if it is not known.")
    refusal: str | None = Field(description="Why the file is refused.")
    facts: DatasetFacts | None = Field(description="Null unless the version was ready.")
    previews: list[int] = Field(description="Samples that can be looked at.")
    jobs: int = Field(description="Jobs that use this content, those that have ended too.")
    agents: list[str] = Field(description="Present agents that keep a copy.")
    project: str
    owner: str = Field(description="Who may delete it, like maintainers of the project.")
    allowed: list[Literal["delete"]] = Field(
        description="What the rights of the caller let it do with it."
    )
    created_at: Timestamp | None
    checked_at: Timestamp | None

    @classmethod
    def from_row(
        cls,
        version: VersionRow,
        access: Access,
        previews: list[int],
        jobs: int,
        agents: list[str],
    ) -> Self:
        """Returns the model of a version for a caller."""
        may_delete = access.may_change(version.project, version.owner)
        return cls.model_validate(
            {
                "dataset": version.name,
                "version": version.number,
                "reference": version.reference,
                "sha256": version.sha256,
                "size": version.size,
                "state": version.state,
                "kind": version.kind,
                "refusal": version.refusal,
                "facts": version.parsed_facts,
                "previews": previews,
                "jobs": jobs,
                "agents": agents,
                "project": version.project,
                "owner": version.owner,
                "allowed": ["delete"] if may_delete else [],
                "created_at": rfc3339(version.created_at),
                "checked_at": None if version.state == CHECKING else rfc3339(version.checked_at),
            }
        )


class DatasetSummary(BaseModel):
    """A data set with its latest version."""

    name: str
    project: str
    owner: str = Field(description="Who may change it, like maintainers of the project.")
    created_at: Timestamp | None
    versions: int = Field(description="Versions that are not deleted.")
    latest: VersionInfo

    @classmethod
    def from_row(cls, dataset: DatasetRow, latest: VersionInfo) -> Self:
        """Returns the model of a data set."""
        return cls(
            name=dataset.name,
            project=dataset.latest.project,
            owner=dataset.latest.owner,
            created_at=rfc3339(dataset.created_at),
            versions=dataset.versions,
            latest=latest,
        )


class DatasetList(BaseModel):
    """One page of a list of data sets, newest first."""

    model_config = example(
        datasets=[
            {
                "name": "mine",
                "project": "default",
                "owner": "alice",
                "created_at": "2026-01-30T12:00:00.000Z",
                "versions": 3,
                "latest": _VERSION,
            }
        ],
        next_page_token="",
    )

    datasets: list[DatasetSummary]
    next_page_token: str = Field(description="Empty on the last page.")


class DatasetDetail(BaseModel):
    """A data set with all its versions."""

    model_config = example(name="mine", versions=[_VERSION])

    name: str
    versions: list[VersionInfo] = Field(description="The newest first, with deleted ones.")
