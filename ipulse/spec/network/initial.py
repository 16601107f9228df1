"""Initial weights from a file."""

from collections.abc import Iterator
from typing import Annotated, Literal

from ipulse.models import Field, StrictModel
from ipulse_core.errors import Problem
from ipulse_core.events import FILE_NAME
from ipulse_core.manifest import SHA256


class InitialSpec(StrictModel):
    """Weights to begin with, by the names of layers, as in weights.npz of a job."""

    file: Annotated[str, Field(pattern=FILE_NAME)] | None = Field(
        default=None,
        description="Name of an npz file in the worker's data directory: weights.npz of a job, or "
        "the weights that `ipulse nir import` wrote.",
        examples=["pretrained.npz"],
    )
    upload: Annotated[str, Field(pattern=SHA256)] | None = Field(
        default=None,
        description="SHA-256 of an uploaded npz file, instead of `file`; `ipulse submit --weights` "
        "uploads one and sets it.",
    )
    sha256: Annotated[str, Field(pattern=SHA256)] | None = Field(
        default=None, description="SHA-256 that `file` must have; null: any."
    )
    missing: Literal["refuse", "draw"] = Field(
        default="refuse",
        description="Where a layer is missing in the file or has another shape. refuse: the job "
        "fails and lists them; draw: these weights are drawn, and the log lists them.",
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem unless there is one file."""
        if (self.file is None) == (self.upload is None):
            yield Problem("", "inconsistent", "needs either file or upload")
        elif self.upload is not None and self.sha256 is not None:
            yield Problem("/sha256", "inconsistent", "upload is the SHA-256 already: remove this")
