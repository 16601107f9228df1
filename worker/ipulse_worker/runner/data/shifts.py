"""Copies of images shifted by fractions of a pixel; see ipulse.spec.Shifts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ipulse_worker.runner.randomness import Purpose, stream

if TYPE_CHECKING:
    from ipulse.spec import Shifts


def shifted_copies(images: np.ndarray, numbers: np.ndarray, shifts: Shifts) -> np.ndarray:
    """Return all first copies of images `[samples, rows, columns]`, then all second ones, etc.

    `numbers`, int `[samples]`, are the images' numbers in their data set. An image's shifts depend
    only on its number and the seed, not on the number of copies or on other images.
    """
    drawn = [
        stream(Purpose.SHIFTS, shifts.seed, int(number)).random_sample((shifts.copies, 2))
        for number in numbers
    ]
    offsets = shifts.pixels * (2.0 * np.stack(drawn, axis=1) - 1.0)  # [copies, samples, 2]
    return np.concatenate([shifted(images, along[:, 0], along[:, 1]) for along in offsets])


def shifted(images: np.ndarray, down: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Move images `[samples, rows, columns]` by `[samples]` pixels; bilinear, 0 outside."""
    return _along_rows(_along_rows(images, down).swapaxes(1, 2), right).swapaxes(1, 2)


def _along_rows(images: np.ndarray, by: np.ndarray) -> np.ndarray:
    rows = images.shape[1]
    whole = np.floor(by).astype(np.int64)
    part = (by - whole)[:, None, None]
    margin = int(np.abs(whole).max(initial=0)) + 1
    padded = np.pad(images, ((0, 0), (margin, margin), (0, 0)), mode="constant")
    # Row r comes from r - by, which is between r - whole - 1 and r - whole.
    near = margin + np.arange(rows) - whole[:, None]
    samples = np.arange(len(images))[:, None]
    moved: np.ndarray = (1.0 - part) * padded[samples, near] + part * padded[samples, near - 1]
    return moved
