"""Contrast of the page's colours, in both themes (WCAG 2.2, 1.4.3 and 1.4.11)."""

from __future__ import annotations

import re

import pytest

from tests.service.http.pages.test_web import STATIC

TEXTS = ("ink", "soft", "accent", "good", "bad", "warn")
MARKS = ("line", *(f"s{number}" for number in range(1, 9)))
GROUNDS = ("page", "card")


def colours(theme: int) -> dict[str, str]:
    text = (STATIC / "styles/tokens.css").read_text("utf-8")
    pairs = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{3,6}), (#[0-9a-f]{3,6})\)", text)
    known = {name: pair[theme] for name, *pair in pairs}
    for name, other in re.findall(r"--([\w-]+): var\(--([\w-]+)\)", text):
        known[name] = known[other]
    return known


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_has_the_contrast_of_the_standard() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_texts_and_marks_can_be_seen(theme: int) -> None:
    known = colours(theme)
    for ground in GROUNDS:
        for name, least in [*((name, 4.5) for name in TEXTS), *((name, 3.0) for name in MARKS)]:
            found = contrast(known[name], known[ground])
            assert found >= least, f"--{name} on --{ground}: {found:.2f}"
