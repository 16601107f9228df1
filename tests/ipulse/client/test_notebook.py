"""Jobs in a notebook: the card and the live view."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from ipulse.client import Connection
from ipulse.client.notebook import live
from ipulse.client.notebook.card import sparkline
from ipulse.client.notebook.live import state_of
from tests.ipulse.live_service import Agent

from .scripted_jobs import EPOCHS, Ended, experiment, run_job

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'


def test_the_card_shows_state_result_link_and_curve(ended: Ended) -> None:
    job = ended()
    card = ElementTree.fromstring(job._repr_html_())  # noqa: S314  # our own text
    text = "".join(card.itertext())
    for part in ("small", "succeeded", "90.0 %", job.id):
        assert part in text
    [link] = card.iter("a")
    assert link.get("href") == job.url
    [line] = card.iter("polyline")
    assert len((line.get("points") or "").split()) == len(EPOCHS)
    assert job.id in repr(job)


def test_a_failed_job_says_why(ended: Ended) -> None:
    assert "the memory is full" in ended(fails=True)._repr_html_()


def test_hostile_names_stay_text(connection: Connection) -> None:
    job = connection.submit(experiment(name=HOSTILE))
    card = ElementTree.fromstring(job._repr_html_())  # noqa: S314  # our own text
    assert {each.tag for each in card.iter()} == {"div", "b", "span", "a"}
    assert HOSTILE in "".join(card.itertext())
    job.cancel()


def test_a_name_does_not_reorder_the_card(connection: Connection) -> None:
    job = connection.submit(experiment(name="run \u202etxt"))
    assert "run \\u202etxt" in job._repr_html_()
    job.cancel()


def test_the_curve_of_one_value_is_a_line() -> None:
    picture = ElementTree.fromstring(sparkline([0.5, 0.5], "#000", "a<b"))  # noqa: S314
    assert "a<b" in (picture.get("aria-label") or "")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_live_view_stops_with_its_job(connection: Connection, agent: Agent) -> None:
    job = connection.submit(experiment())
    view = job.live()
    assert view.state["state"] == "queued"
    run_job(agent, job.id)
    view.follower.join(60)
    assert not view.follower.is_alive()
    assert view.state["state"] == "succeeded"
    assert view.state["curves"]["test_accuracy"] == [accuracy for _, accuracy in EPOCHS]
    assert any("is odd" in line for line in view.state["log"])
    data, _ = view._repr_mimebundle_()
    assert job._repr_html_() in data["text/html"]  # the picture that a saved notebook keeps
    view.close()


@pytest.mark.browser
def test_the_live_view_draws_what_the_job_reports(ended: Ended) -> None:
    from tests.acceptance.browser import open_browser

    state = {**state_of(ended()), "name": HOSTILE, "log": [HOSTILE]}
    script = (
        Path(live.__file__)
        .with_name("live.js")
        .read_text()
        .replace("export default", "const view =")
    )
    model = "({ get: () => arguments[0], on: () => {}, off: () => {} })"
    with open_browser("data:text/html,<body></body>") as browser:
        browser.open("")
        browser.driver.execute_script(
            f"{script}\nview.render({{ model: {model}, el: document.body }});", state
        )
        text = browser.text("body")
        assert "succeeded" in text
        assert "test_accuracy 0.7500" in text
        assert text.count(HOSTILE) == 2
        assert browser.all("script, img") == []
        points = [line.get_attribute("points") or "" for line in browser.all("polyline")]
        assert [len(line.split()) for line in points] == [3, 3, 3]
