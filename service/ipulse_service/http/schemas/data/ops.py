"""Pushed ops as the API returns them."""

from __future__ import annotations

import json
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from ipulse_service.db.access import Access, Action
from ipulse_service.db.engine import rfc3339
from ipulse_service.http.schemas.base import SHA256, Digest, Timestamp, example
from ipulse_service.ops.registry import OpRow

_MANIFEST: dict[str, Any] = {
    "name": "pool_op",
    "kernel": ["kernel.cpp"],
    "inputs": [{"name": "spikes", "dtype": "float32", "shape": ["steps", "batch", "senders"]}],
    "outputs": [
        {"name": "pooled", "dtype": "float32", "shape": ["steps", "batch", "senders // width"]}
    ],
    "gradients": ["spikes"],
    "attributes": {"width": {"type": "integer", "default": 2, "minimum": 1}},
    "sizes": {"steps": 3, "batch": 2, "senders": 8},
}
_OP: dict[str, Any] = {
    "name": "pool_op",
    "sha256": SHA256,
    "reference": f"pool_op@sha256:{SHA256}",
    "size": 20_480,
    "backends": ["reference", "kernel"],
    "manifest": _MANIFEST,
    "created_at": "2026-01-31T12:00:00.000Z",
    "pushed_by": "op-writer",
    "project": "default",
    "owner": "alice",
    "allowed": ["delete"],
    "jobs": 3,
}


class OpInfo(BaseModel):
    """A pushed op."""

    model_config = example(**_OP)

    name: str
    sha256: Digest
    reference: str = Field(description="The op as `network.layers[].op` of a spec names it.")
    size: int = Field(description="Bytes of the source package.")
    backends: list[str] = Field(
        description="What runs it: reference and kernel on a CPU, poplar on emulated IPUs."
    )
    manifest: dict[str, Any] = Field(description="Its op.json.")
    created_at: Timestamp | None
    pushed_by: str | None = Field(
        description="Name of the token that pushed it; null if an older version stored it."
    )
    project: str
    owner: str = Field(description="Who pushed it.")
    allowed: list[Literal["delete"]] = Field(
        description="What the rights of the caller let it do with it: who may submit code to its "
        "project deletes it."
    )
    jobs: int = Field(description="Jobs that name it, those that are over too.")

    @classmethod
    def from_row(cls, op: OpRow, access: Access, jobs: int) -> Self:
        """Returns the model of an op for a caller."""
        may_delete = access.decide(Action.SUBMIT_CODE, op.project)
        return cls(
            name=op.name,
            sha256=op.sha256,
            reference=op.reference,
            size=op.size,
            backends=op.parsed.backends,
            manifest=json.loads(op.manifest),
            created_at=rfc3339(op.created_at),
            pushed_by=op.pushed_by,
            project=op.project,
            owner=op.owner,
            allowed=["delete"] if may_delete else [],
            jobs=jobs,
        )


class OpList(BaseModel):
    """One page of ops."""

    model_config = example(ops=[_OP], next_page_token="")

    ops: list[OpInfo]
    next_page_token: str = Field(description="Token of the next page; empty on the last one.")
