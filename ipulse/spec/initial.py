"""Initial weights from a file."""

from typing import Annotated, Literal

from ipulse.models import Field, StrictModel
from ipulse_core.events import FILE_NAME
from ipulse_core.manifest import SHA256


class InitialSpec(StrictModel):
    """Weights to begin with, by the names of layers, as in weights.npz of a job."""

    file: str = Field(
        pattern=FILE_NAME,
        description="Name of an npz file in the worker's data directory: weights.npz of a job, or "
        "the weights that `ipulse nir import` wrote.",
        examples=["pretrained.npz"],
    )
    sha256: Annotated[str, Field(pattern=SHA256)] | None = Field(
        default=None, description="SHA-256 that the file must have; null: any."
    )
    missing: Literal["refuse", "draw"] = Field(
        default="refuse",
        description="Where a layer is missing in the file or has another shape. refuse: the job "
        "fails and lists them; draw: these weights are drawn, and the log lists them.",
    )
