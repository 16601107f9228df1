"""The SVG and HTML elements that all plots share."""

from __future__ import annotations

from html import escape
from typing import Any, Dict, Iterable, Optional

from markupsafe import Markup

from ipulse_core import strict_json


def svg(
    width: float, height: float, marks: Iterable[str], description: str, css_class: str = ""
) -> Markup:
    """Return an inline SVG image that scales to the width of its container.

    Args:
        width: of the coordinate system.
        height: of the coordinate system.
        marks: SVG elements, whose texts are escaped already.
        description: plain text for screen readers.
        css_class: of the element; none if empty.
    """
    attribute = f' class="{css_class}"' if css_class else ""
    return Markup(  # noqa: S704 - the marks are numbers and escaped texts
        f'<svg{attribute} viewBox="0 0 {width:g} {height:.5g}" role="img" '
        f'aria-label="{escape(description)}">{"".join(marks)}</svg>'
    )


def stretched_svg(width: float, height: float, marks: Iterable[str]) -> str:
    """Return an SVG image of a fixed height in pixels, which is stretched to any width.

    It contains no text, which would be stretched, too; `plot` adds texts in HTML.
    """
    return (
        f'<svg class="stretched" style="height:{height:g}px" viewBox="0 0 {width:g} {height:g}" '
        f'preserveAspectRatio="none" aria-hidden="true">{"".join(marks)}</svg>'
    )


def plot(parts: Iterable[str], description: str, data: Optional[Dict[str, Any]] = None) -> Markup:
    """Return a plot of HTML parts; the texts keep their size on screens of every width.

    Args:
        parts: HTML elements, whose texts are escaped already.
        description: plain text for screen readers.
        data: of the curves, for the page's script.
    """
    block = "" if data is None else f'<script type="application/json">{_json(data)}</script>'
    return Markup(  # noqa: S704 - the parts are numbers and escaped texts
        f'<div class="chart" role="img" aria-label="{escape(description)}">{"".join(parts)}</div>'
        f"{block}"
    )


def _json(data: Dict[str, Any]) -> str:
    """Return JSON that cannot end its script element."""
    text = strict_json.dumps(data)
    for character in "<>&=":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def span(css_class: str, text: str, place: str = "") -> str:
    """Return an HTML text; `place` is its CSS position, such as "left:20%"."""
    style = f' style="{place}"' if place else ""
    return f'<span class="{css_class}"{style}>{escape(text)}</span>'
