"""Random changes of the training samples' input events."""

from collections.abc import Iterator

from ipulse.models import Field, StrictModel
from ipulse_core.errors import Problem


class AugmentationSpec(StrictModel):
    """Changes of training samples, drawn anew for every sample and epoch from the spec's seed."""

    drop: float = Field(
        default=0.0, ge=0.0, lt=1.0, description="Probability that an event is left out."
    )
    jitter_ms: float = Field(
        default=0.0,
        ge=0.0,
        le=1e6,
        description="Standard deviation of the time by which each event moves.",
    )
    shift_ms: float = Field(
        default=0.0,
        ge=0.0,
        le=1e6,
        description="All events of a sample move by one time, drawn from -shift_ms to shift_ms.",
    )
    flip: bool = Field(
        default=False,
        description="Whether half of the samples, drawn at random, are mirrored left to right.",
    )
    crop_pixels: int = Field(
        default=0,
        ge=0,
        le=128,
        description="The image moves by up to so many pixels along x and y; events outside vanish.",
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem if nothing is changed."""
        if not (self.drop or self.jitter_ms or self.shift_ms or self.flip or self.crop_pixels):
            yield Problem("", "inconsistent", "changes nothing: set a field, or remove it")
