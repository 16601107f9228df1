"""Compares what the browser shows with stored pictures, but for the edges of letters."""

from __future__ import annotations

import base64
import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from .conftest import Page

FOLDER = Path(__file__).parent / "screenshots"
WRITE = "WRITE_SCREENSHOTS"  # set: the pictures are made anew
CELL = 16  # pixels; means of squares are compared
FAINT = 20  # a difference of means, of 255, that nobody sees
MOST = 0.02  # of the squares may differ more
COLORS = 48  # of a stored picture
# The pictures have the font that Debian installs with Chromium. A text and its width in it; other
# fonts break lines at other words.
FONT = "DejaVu Sans (fonts-dejavu-core)"
PROBE, PROBE_WIDTH = "Attempt 12 was lost: worker lost", 235

_MEASURE = """
    const probe = document.createElement("span");
    probe.textContent = arguments[0];
    document.body.append(probe);
    const { width } = probe.getBoundingClientRect();
    probe.remove();
    return width;
"""
# Times and ids differ each time.
_HIDE = """
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("time, code, .id, .facts, .activity { visibility: hidden !important }");
    document.adoptedStyleSheets = [sheet];
    document.activeElement?.blur();
    scrollTo(0, 0);
"""


def check(page: Page, name: str, height: int) -> None:
    """Compares the upper part of the window with the picture of this name."""
    page.driver.execute_script(_HIDE)
    width = page.driver.execute_script("return innerWidth")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    shot = page.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip})
    shown = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    file = FOLDER / f"{name}.png"
    if WRITE in os.environ:
        FOLDER.mkdir(exist_ok=True)
        shown.quantize(COLORS).save(file, optimize=True)
    probe = page.driver.execute_script(_MEASURE, PROBE)
    if abs(probe - PROBE_WIDTH) > 1:
        pytest.skip(
            f"no picture was compared, all other checks passed: the pictures have the font {FONT}, "
            f"in which a line has {PROBE_WIDTH} pixels; it has {probe:.0f} here"
        )
    stored = Image.open(file).convert("RGB")
    assert shown.size == stored.size
    differences = np.abs(_cells(shown) - _cells(stored)).max(axis=2)
    share = float((differences > FAINT).mean())
    assert share <= MOST, f"{share:.1%} of {name} differ; {WRITE}=1 makes it anew, then look at it"


def _cells(image: Image.Image) -> np.ndarray:
    size = (image.width // CELL, image.height // CELL)
    return np.asarray(image.resize(size, Image.Resampling.BOX), np.float64)
