"""More images to learn from, made of those that there are."""

from __future__ import annotations

from dataclasses import dataclass

from ipulse_core.schema import described


@dataclass(frozen=True)
class Shifts:
    """Copies of every training image, each shifted by a part of a pixel or more.

    A shift is drawn evenly from [-pixels, pixels] along rows and, by itself, along columns. Between
    pixels an image is linear along both; beyond its edges it is dark. Copies are made once and
    encoded as the images are, an epoch visits them all, and the held-out images have none.
    """

    copies: int = described("Copies of every training image.", default=4, ge=1, le=64)
    pixels: float = described(
        "The farthest shift along an axis.", default=0.5, gt=0.0, le=4.0, unit="pixels"
    )
    seed: int = described(
        "Decides the shifts, whatever the experiment's seed.", default=0, ge=0, le=2**31 - 1
    )
