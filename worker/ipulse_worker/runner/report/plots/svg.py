"""The SVG element that all plots share."""

from __future__ import annotations

from html import escape
from typing import Iterable

from markupsafe import Markup


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
