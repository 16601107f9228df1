"""A valid spec and the memory that it needs on a device."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from ipulse.spec import AnySpec, ExperimentSpec
from ipulse.spec.tile_fit import Verdict, tile_fit
from ipulse_core.registry.versions import raise_to_2
from ipulse_core.spec.nir_targets import nir_targets
from ipulse_service.http.schemas.base import BRIEF_SPEC, SHA256, SPEC, example

FIT: dict[str, Any] = {
    "verdict": "fits",
    "basis": "estimate",
    "fullest_tile_bytes": 52_224,
    "least_bytes": 40_960,
    "tile_bytes": 638_976,
    "tiles_used": 214,
    "tiles": 1472,
    "ipus": 1,
    "tiles_per_ipu": 1472,
    "input_spikes": 64,
}


NIR_TARGETS = ["generic", "norse"]


def nir_targets_of(spec: AnySpec) -> list[str]:
    """Returns the simulators that can run a spec's network from a NIR file."""
    return nir_targets(spec) if isinstance(spec, ExperimentSpec) else []


class FitInfo(BaseModel):
    """The predicted memory of the fullest tile, before anything is compiled."""

    model_config = example(**FIT)

    verdict: Verdict = Field(
        description="may_not_fit: more is predicted than a tile has; cannot_fit: no placement "
        "fits, and a submission is refused."
    )
    basis: Literal["estimate"] = Field(
        default="estimate", description="The compiler may find half or twice as much."
    )
    fullest_tile_bytes: int = Field(description="Predicted memory of the fullest tile.")
    least_bytes: int = Field(
        description="What the fullest tile needs at least, however the network is placed."
    )
    tile_bytes: int = Field(description="Memory of a tile.")
    tiles_used: int = Field(description="Tiles that have neurons or samples.")
    tiles: int = Field(description="Tiles of all IPUs of the job.")
    ipus: int = Field(description="IPUs that the network is on.")
    tiles_per_ipu: int = Field(description="Tiles of each.")
    input_spikes: int = Field(
        description="The assumed number of spikes of a sample and step that come in."
    )

    @classmethod
    def of_spec(cls, spec: AnySpec) -> Self | None:
        """Returns the prediction for a spec, None for a CPU and what is not known."""
        fit = tile_fit(spec) if isinstance(spec, ExperimentSpec) else None
        return None if fit is None else cls(**fit.to_json())


class ValidatedSpec(BaseModel):
    """A spec that a submission would accept."""

    model_config = example(
        valid=True,
        spec=SPEC,
        spec_version_2=raise_to_2(SPEC),
        brief=BRIEF_SPEC,
        spec_sha256=SHA256,
        fit=None,
        nir_targets=NIR_TARGETS,
    )

    valid: Literal[True] = True
    spec: dict[str, Any] = Field(description="With all defaults filled in, in version 1.")
    spec_version_2: dict[str, Any] = Field(description="The same in version 2.")
    brief: dict[str, Any] = Field(
        description="As people write it: in version 2, without what has its default."
    )
    spec_sha256: str = Field(description="SHA-256 of the spec's canonical JSON.")
    fit: FitInfo | None = Field(
        description="Whether the network fits the tiles of emulated IPUs or IPUs; null for a CPU, "
        "and where that cannot be predicted."
    )
    nir_targets: list[str] = Field(
        description="Values of export.nir[].target: the simulators that can run the network from a "
        "NIR file; what training decides is looked at after the first epoch. Empty if none can."
    )
