"""report.html: one self-contained page about a training, without scripts or requests.

Its text comes partly from a user (names, metadata), so every section escapes what it puts in, and
the page forbids itself everything but its own style sheet.
"""

from __future__ import annotations

import pkgutil
from string import Template

from ipulse_worker.runner.report.activity import activity, one_sample
from ipulse_worker.runner.report.composition import network
from ipulse_worker.runner.report.gates import gates
from ipulse_worker.runner.report.headline import headline
from ipulse_worker.runner.report.learning import confusion, learning
from ipulse_worker.runner.report.on_tiles import on_tiles
from ipulse_worker.runner.report.origin import origin
from ipulse_worker.runner.report.time_spent import time_spent
from ipulse_worker.runner.results.results import Results

SECTIONS = (
    headline,
    learning,
    one_sample,
    activity,
    gates,
    confusion,
    time_spent,
    on_tiles,
    network,
    origin,
)


def report_html(results: Results) -> bytes:
    """The page, in UTF-8. Each section gives the parts of page.html that it names."""
    template = pkgutil.get_data(__package__, "page.html")
    if template is None:
        raise FileNotFoundError("page.html is missing beside page.py: install the package again")
    parts = {name: text for section in SECTIONS for name, text in section(results).items()}
    return Template(template.decode("utf-8")).substitute(parts).encode("utf-8")
