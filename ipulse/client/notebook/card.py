"""A job as a card in a notebook: HTML without scripts, in which every text is escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence

from ipulse.client.jobs.snapshot import JobSnapshot
from ipulse_core.limits import escape_deceptive
from ipulse_core.numbers import plain_number
from ipulse_core.states import JobState

_COLORS = {
    JobState.SUCCEEDED: "#1a7f37",
    JobState.FAILED: "#cf222e",
    JobState.CANCELLED: "#6e7781",
    JobState.PAUSED: "#9a6700",
}
_ACTIVE = "#0969da"
_WIDTH, _HEIGHT = 160, 36
_BOX = (
    "border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:.6em .9em;"
    "max-width:44em;display:flex;gap:1.5em;align-items:center;justify-content:space-between"
)
_CHIP = "border-radius:1em;padding:.05em .6em;color:#fff;background:"


def escape(text: str) -> str:
    """Return a text for HTML that neither is taken for markup nor reorders what is around it."""
    return html.escape(escape_deceptive(text))


def card_html(job: JobSnapshot, curve: Sequence[float], metric: str) -> str:
    """Return the card of a job, with a small curve of a metric if there are two points or more."""
    color = color_of(job.state)
    lines = [
        f"<div><b>{escape(job.name)}</b> "
        f'<span style="{_CHIP}{color}">{job.state.value}</span></div>',
        f"<div>{escape(job.headline)}</div>",
        f'<div><a href="{escape(job.url)}" rel="noopener">{escape(job.id)}</a></div>',
    ]
    picture = sparkline(curve, color, metric) if len(curve) > 1 else ""
    return f'<div style="{_BOX}"><div>{"".join(lines)}</div>{picture}</div>'


def color_of(state: JobState) -> str:
    """Return the color of a state."""
    return _COLORS.get(state, _ACTIVE)


def sparkline(curve: Sequence[float], color: str, metric: str) -> str:
    """Return a small curve as SVG, between its smallest and its largest value."""
    low, high = min(curve), max(curve)
    span = high - low or 1.0
    points = " ".join(
        f"{index * _WIDTH / (len(curve) - 1):.1f},{_HEIGHT - (value - low) / span * _HEIGHT:.1f}"
        for index, value in enumerate(curve)
    )
    title = f"{metric} by epoch, {plain_number(low)} to {plain_number(high)}"
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="-2 -2 {_WIDTH + 4} {_HEIGHT + 4}" '
        f'role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>'
        f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/></svg>'
    )
