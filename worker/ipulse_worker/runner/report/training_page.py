"""The page report.html of a training: the values of all its sections, rendered."""

from __future__ import annotations

from ipulse_worker.runner.report.activity import activity, one_sample
from ipulse_worker.runner.report.composition import network
from ipulse_worker.runner.report.findings import findings
from ipulse_worker.runner.report.gradients import gradients
from ipulse_worker.runner.report.headline import headline
from ipulse_worker.runner.report.learning import confusion, learning, regression
from ipulse_worker.runner.report.on_tiles import on_tiles
from ipulse_worker.runner.report.operations import operations
from ipulse_worker.runner.report.page import contained, render
from ipulse_worker.runner.report.reproduction import reproduction
from ipulse_worker.runner.report.time_spent import time_spent
from ipulse_worker.runner.report.training_facts import training_facts
from ipulse_worker.runner.results.results import Results


def report_html(results: Results) -> bytes:
    """Return the page in UTF-8."""
    top = headline(results)
    body = render(
        "body.html",
        headline=top,
        findings=findings(training_facts(results)),
        learning=learning(results),
        sample=one_sample(results),
        activity=activity(results),
        gradients=gradients(results),
        confusion=confusion(results),
        regression=regression(results),
        time=time_spent(results),
        tiles=on_tiles(results),
        network=network(results),
        operations=operations(results),
        reproduction=reproduction(results),
    )
    return contained(top["name"], body).encode("utf-8")
