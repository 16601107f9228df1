"""Plots of a run on a device: its cycles over time, and one iteration of its loop."""

from __future__ import annotations

from html import escape
from typing import List, Sequence, Tuple

import numpy as np
from markupsafe import Markup

from ipulse_worker.runner.profile.tile_records import KINDS
from ipulse_worker.runner.report.plots.axes import WIDTH
from ipulse_worker.runner.report.plots.svg import plot, span, stretched_svg

COLOURS = {"compute": 1, "exchange": 2, "sync": 0, "host": 4}
# The order of drawing within a step. An exchange may also come after the compute.
DRAWN = ("host", "sync", "exchange", "compute")
STRIP_HEIGHT = 54.0
LANE_HEIGHT = 30.0
MOST_BINS = 266  # of the strip, four pixels each
MOST_STEPS = 300  # drawn per iteration
NAMED_SHARE = 0.08  # of an iteration: the name of a shorter step would not fit above it


def strip(cycles: np.ndarray, description: str) -> Markup:
    """Draw the share of each kind of cycles over time; cycles float64 `[steps, kinds]`."""
    order = [KINDS.index(kind) for kind in DRAWN]
    moments = np.concatenate([[0.0], np.cumsum(cycles[:, order].reshape(-1))])
    edges = np.linspace(0.0, moments[-1], min(MOST_BINS, len(moments)))
    spent = []
    for kind in KINDS:
        own = np.zeros(cycles[:, order].shape)
        own[:, DRAWN.index(kind)] = cycles[:, KINDS.index(kind)]
        reached = np.concatenate([[0.0], np.cumsum(own.reshape(-1))])
        spent.append(np.diff(np.interp(edges, moments, reached)))
    shares = np.cumsum(np.stack(spent) / np.diff(edges), axis=0)
    rights = WIDTH * edges[1:] / edges[-1]
    # The areas overlap: each is drawn over the larger area of the kinds after it.
    areas = [
        _area(kind, share, rights) for kind, share in list(zip(KINDS, shares))[::-1] if share.any()
    ]
    return plot([stretched_svg(WIDTH, STRIP_HEIGHT, areas)], description)


def one_iteration(steps: Sequence[Tuple[str, np.ndarray]], description: str) -> Markup:
    """Draw consecutive steps: name, and cycles float64 `[kinds]`."""
    steps = steps[:MOST_STEPS]
    whole = float(sum(cycles.sum() for _, cycles in steps))
    marks: List[str] = []
    names: List[str] = []
    at = 0.0
    for name, cycles in steps:
        begin = WIDTH * at / whole
        parts = []
        for kind in DRAWN:
            amount = float(cycles[KINDS.index(kind)])
            if amount:
                x, width = WIDTH * at / whole, WIDTH * amount / whole
                parts.append(
                    f'<rect class="f{COLOURS[kind]}" x="{x:.2f}" y="0" '
                    f'width="{width:.2f}" height="{LANE_HEIGHT:g}"/>'
                )
            at += amount
        counts = ", ".join(f"{k} {c:,.0f}" for k, c in zip(KINDS, cycles) if c)
        marks.append(f"<g><title>{escape(f'{name}: {counts} cycles')}</title>{''.join(parts)}</g>")
        marks.append(f'<path class="axis" d="M{begin:.1f} 0V{LANE_HEIGHT:g}"/>')
        share = (WIDTH * at / whole - begin) / WIDTH
        if share >= NAMED_SHARE:
            place = f"left:{100 * begin / WIDTH:.2f}%;width:{100 * share:.2f}%"
            names.append(span("step tick", name.rsplit("/", 1)[-1], place))
    image = stretched_svg(WIDTH, LANE_HEIGHT, marks)
    return plot([f'<div class="lane">{"".join(names)}{image}</div>'], description)


def _area(kind: str, share: np.ndarray, rights: np.ndarray) -> str:
    tops = STRIP_HEIGHT * (1 - np.clip(share, 0.0, 1.0))
    points = "".join(f"V{top:.1f}H{right:.1f}" for top, right in zip(tops, rights))
    return f'<path class="f{COLOURS[kind]}" d="M0 {STRIP_HEIGHT:g}{points}V{STRIP_HEIGHT:g}z"/>'
