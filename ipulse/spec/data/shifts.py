"""Shifted copies of the training images."""

from ipulse.models import Field, StrictModel, unit
from ipulse.spec.fields import Seed


class Shifts(StrictModel):
    """Copies of every training image, each shifted by a part of a pixel or more.

    Shifts along rows and along columns are drawn independently and uniformly from
    [-pixels, pixels]. Between pixels an image is interpolated linearly; beyond its edges it is
    dark. Copies are made once and encoded as the images are. An epoch visits all of them. Held-out
    images are not copied.
    """

    copies: int = Field(default=4, ge=1, le=64, description="Copies of every training image.")
    pixels: float = Field(
        default=0.5,
        gt=0.0,
        le=4.0,
        description="Largest shift along an axis.",
        json_schema_extra=unit("pixels"),
    )
    seed: Seed = Field(
        default=0, description="Seed of the shifts, independent of the experiment's seed."
    )
