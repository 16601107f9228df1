"""An imported NIR file: the options of its import, and the spec that the API returns."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from ipulse_core.spec.nir_writers import FLAGS, ResetName, SolverName, WriterName
from ipulse_service.datasets.network_import import ImportedNir
from ipulse_service.db.engine import rfc3339
from ipulse_service.http.dependencies import NUMBER
from ipulse_service.http.schemas.base import SHA256, Digest, Timestamp, example
from ipulse_service.http.schemas.data.datasets import UPLOAD_ID

MAX_NAME = 200
_SPEC = {
    "version": 2,
    "name": "theirs",
    "data": {
        "kind": "npz",
        "name": "theirs",
        "channels": 3,
        "classes": 2,
        "step_ms": 1.0,
        "steps": 100,
    },
    "network": {
        "layers": [{"neurons": 4, "neuron": {"decay": 0.95, "threshold": 1.0, "gain": 1.0}}],
        "readout": {"neuron": {"kind": "leaky", "decay": 0.95, "gain": 1.0}},
        "delay": 0,
        "reset": "zero",
        "initial": {"upload": SHA256},
    },
    "training": {"epochs": 10},
}
_WEIGHTS = {
    "upload_id": UPLOAD_ID,
    "size": 1_048_576,
    "sha256": SHA256,
    "expires_at": "2026-02-01T12:00:00.000Z",
}


class NirQuery(BaseModel):
    """How the neurons of a NIR file are solved, where the file does not say it."""

    model_config = ConfigDict(extra="forbid")

    writer: WriterName | None = Field(
        default=None,
        description="Program that wrote the file; nir: any that solves NIR's equations. By default "
        "what a file of IPUlse says.",
    )
    solver: SolverName | None = Field(
        default=None,
        description="How the simulator makes decays of time constants. exact: exp(-step / tau); "
        "euler: 1 - step / tau; unscaled: exact, and the input has no factor.",
    )
    step_ms: Annotated[float, Field(ge=1e-6, le=1e6), NUMBER] | None = Field(
        default=None, description="Time step of the simulator in milliseconds."
    )
    reset: ResetName | None = Field(
        default=None,
        description="What a spike of a LIF, CubaLIF or IF does to its membrane, in the same step "
        "or later, one step after.",
    )
    name: str = Field(
        default="", max_length=MAX_NAME, description="Name of the spec and of its data."
    )

    def flags(self) -> dict[str, str]:
        """Returns the options as flags of `python -m ipulse_core.nir`."""
        given = self.model_dump(include=set(FLAGS), exclude_none=True)
        return {FLAGS[name]: str(value) for name, value in given.items()}


class ImportedWeights(BaseModel):
    """The weights of an imported network, which the service keeps as an upload."""

    model_config = example(**_WEIGHTS)

    upload_id: str
    size: int = Field(description="Bytes.")
    sha256: Digest
    expires_at: Timestamp | None = Field(
        description="When they are forgotten, unless a job uses them."
    )


class ImportedNetwork(BaseModel):
    """An imported network."""

    model_config = example(
        spec=_SPEC,
        notes=["its convolution is layer_1, a dense matrix"],
        arrays={"layer_1": [3, 4], "readout": [4, 2]},
        weights=_WEIGHTS,
    )

    spec: dict[str, Any] = Field(
        description="A valid spec of version 2, whose `network.initial.upload` names the weights. "
        "Data and loss are a guess."
    )
    notes: list[str] = Field(
        description="What was assumed, and what the spec expresses by other means."
    )
    arrays: dict[str, list[int]] = Field(description="Shapes of the weights by name.")
    weights: ImportedWeights

    @classmethod
    def of(cls, found: ImportedNir) -> Self:
        """Returns the model of an import."""
        upload = found.weights
        weights = ImportedWeights(
            upload_id=upload.id,
            size=upload.size,
            sha256=upload.sha256,
            expires_at=rfc3339(upload.expires_at),
        )
        return cls(spec=found.spec, notes=found.notes, arrays=found.arrays, weights=weights)
