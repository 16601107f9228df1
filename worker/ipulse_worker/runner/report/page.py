"""report.html: one self-contained page about a training, without scripts or requests.

The page contains text from users (names, metadata). Templates escape all text, and the page's
content security policy allows nothing except its own style sheet.
"""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ipulse_worker.runner.report.activity import activity, one_sample
from ipulse_worker.runner.report.composition import network
from ipulse_worker.runner.report.gradients import gradients
from ipulse_worker.runner.report.headline import headline
from ipulse_worker.runner.report.learning import confusion, learning
from ipulse_worker.runner.report.on_tiles import on_tiles
from ipulse_worker.runner.report.quantities import count, duration, listed, percent, size
from ipulse_worker.runner.report.reproduction import reproduction
from ipulse_worker.runner.report.time_spent import time_spent
from ipulse_worker.runner.results.results import Results


def report_html(results: Results) -> bytes:
    """Return the page in UTF-8."""
    page = render(
        "page.html",
        headline=headline(results),
        learning=learning(results),
        sample=one_sample(results),
        activity=activity(results),
        gradients=gradients(results),
        confusion=confusion(results),
        time=time_spent(results),
        tiles=on_tiles(results),
        network=network(results),
        reproduction=reproduction(results),
    )
    return page.encode("utf-8")


def render(template: str, **values: Any) -> str:
    """Render one of the templates of this package."""
    environment = Environment(
        loader=PackageLoader(__package__ or ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (count, duration, listed, percent, size)
    environment.filters.update({function.__name__: function for function in filters})
    return environment.get_template(template).render(**values)
