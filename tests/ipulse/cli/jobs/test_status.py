"""`ipulse status` shows each fact of a job once, in plain figures."""

from __future__ import annotations

import re

import pytest

from ipulse.cli.display.figures import figure
from ipulse.cli.display.sweep_tables import setting_text
from ipulse.client import Connection
from ipulse_core.ids import short_id
from tests.ipulse.cli.conftest import SPEC, Run
from tests.ipulse.live_service import Agent


def names_of(out: str) -> list[str]:
    """Return the names of the rows, which two spaces or more separate from the facts."""
    return [re.split(r"\s{2,}", line.strip())[0] for line in out.splitlines() if "  " in line]


def test_each_row_has_a_name_of_its_own(run: Run, client: Connection, agent: Agent) -> None:
    job = client.submit({**SPEC, "metadata": {"seconds": "7", "name": "mine"}})
    attempt = agent.claim(job.id)
    for phase in ("prepare", "compile", "acquire", "run"):
        attempt.report({"kind": "phase", "phase": phase})
    attempt.metric(3, loss=0.5, accuracy=0.5)
    running = run("status", job.id)
    attempt.report({"kind": "phase", "phase": "report"})
    attempt.store("manifest.json", "manifest", b"{}")
    attempt.finish(
        test_accuracy=0.975,
        accuracy=0.99,
        seconds=61.2,
        run_seconds=12.5,
        samples_per_second=25_520.3,
        kept_epoch=3.0,
    )
    ended = run("status", job.id)
    for shown in (running, ended):
        names = names_of(shown.out)
        assert len(names) > 5
        assert len(set(names)) == len(names)
        assert not re.search(r"\de[+-]\d", shown.out), "a figure with an exponent"
    assert "started" in names_of(running.out)
    assert "duration" not in names_of(running.out), "the phase that goes on has no seconds yet"
    assert "duration" in names_of(ended.out)
    assert "25,520" in ended.out
    assert "97.5 %" in ended.out


@pytest.mark.parametrize("value", [25_520.3, 1e5, 2e7, 1.5e-6, 0.25, 0.0, -3e4])
def test_no_figure_of_a_job_or_a_sweep_has_an_exponent(value: float) -> None:
    for text in (
        figure("samples_per_second", value),
        figure("test_mae", value),
        setting_text({"/training/optimizer/learning_rate": value}),
    ):
        assert not re.search(r"\de[+-]?\d", text)
        shown = float(text.rpartition(" ")[2].replace(",", ""))
        assert shown == pytest.approx(value, rel=1e-3)


def test_the_job_that_is_waited_for_is_named_once(run: Run, client: Connection) -> None:
    first = client.submit({**SPEC, "name": "the base"})
    second = client.submit({**SPEC, "name": "the second"}, after=[first.id])
    shown = run("status", second.id).out
    [waits] = [line for line in shown.splitlines() if line.startswith("waits for")]
    assert waits.count("the base") == 1
    assert waits.count(short_id(first.id)) == 1
    assert first.id not in waits
    client.job(first.id).cancel()
