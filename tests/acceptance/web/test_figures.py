"""Figures and progress on the page; the test plays the agent of the jobs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Connection
from tests.acceptance.browser import OVERFLOW, Browser
from tests.ipulse.live_service import Agent, Attempt

pytestmark = [pytest.mark.slow, pytest.mark.browser]

SPEC = {"version": 1, "name": "figures", "network": {"layers": [{"neurons": 8}]}}
EPOCHS, STEPS = 4, 5  # of the job, and of an epoch
# Records each text that an element has, as often as the page changes it.
RECORD = """
    window.texts = window.texts ?? new Set();
    const [place] = arguments;
    const record = () => {
      for (const element of document.querySelectorAll(place)) texts.add(element.textContent);
    };
    const changes = { subtree: true, childList: true, characterData: true };
    new MutationObserver(record).observe(document.body, changes);
    record();
"""


def metric(scope: str, epoch: int, step: int, **values: float) -> dict[str, Any]:
    """Return a metric event; its accuracy says which split and scope it is of."""
    return {
        "kind": "metric",
        "epoch": epoch,
        "epochs": EPOCHS,
        "step": step,
        "steps": EPOCHS * STEPS,
        "values": values,
        "scope": scope,
    }


def step(epoch: int, number: int) -> dict[str, Any]:
    at = (epoch - 1) * STEPS + number
    return metric("step", epoch, at, loss=1.0, accuracy=0.1 + at / 1000)


def epoch_end(epoch: int, **more: Any) -> dict[str, Any]:
    values = {"loss": 0.9, "accuracy": 0.5 + epoch / 1000, "test_loss": 0.8}
    ended = metric("epoch", epoch, epoch * STEPS, **values, test_accuracy=0.9 + epoch / 1000)
    return {**ended, **more}


def phases(attempt: Attempt, *names: str) -> None:
    for name in names:
        attempt.report({"kind": "phase", "phase": name})


def legend(browser: Browser) -> set[str]:
    """Return the texts of the legend of the first figure."""
    entries = browser.all("figure:first-child .curve-legend li")
    return {" ".join(entry.text.split()) for entry in entries}


def await_text(browser: Browser, place: str, text: str) -> None:
    browser.until(lambda: text in browser.text(place))


def in_percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def test_a_shown_test_accuracy_is_never_one_of_training(
    browser: Browser, client: Connection, agent: Agent
) -> None:
    """In the list and in the head of the job, at each of its events."""
    job = client.submit(SPEC)
    attempt = agent.claim(job.id)
    phases(attempt, "prepare", "compile", "acquire", "run")
    shown: dict[str, set[str]] = {}
    cell = f"tr:has(a[href='/jobs/{job.id}']) td.c-test_accuracy"
    for path, place in (
        ("/jobs", cell),
        (f"/jobs/{job.id}", ".job-figures div:first-child dd:nth-of-type(1)"),
    ):
        browser.open(path)
        browser.find(".chip.active")
        browser.driver.execute_script("window.texts = new Set()")
        browser.driver.execute_script(RECORD, place)
        start = 1 if path == "/jobs" else 3
        for epoch in (start, start + 1):
            for number in range(1, STEPS):
                attempt.report(step(epoch, number))
            attempt.report(epoch_end(epoch))
            await_text(browser, place, in_percent(0.9 + epoch / 1000))
        shown[path] = set(browser.driver.execute_script("return [...texts]"))
    accuracies = {epoch: in_percent(0.9 + epoch / 1000) for epoch in range(EPOCHS + 1)}
    assert shown["/jobs"] <= {"", *accuracies.values()}
    assert shown[f"/jobs/{job.id}"] <= set(accuracies.values())
    heads = [element.text for element in browser.all(".figures dt")]
    assert heads[:3] == ["Test accuracy", "Test loss", "Training accuracy"]
    notes = [element.text for element in browser.all(".figures dd.soft")]
    assert notes[:3] == ["epoch 4", "epoch 4", "mean of epoch 4"]
    assert browser.complaints() == []


def test_curves_have_a_series_for_each_scope(
    browser: Browser, client: Connection, agent: Agent
) -> None:
    job = client.submit(SPEC)
    attempt = agent.claim(job.id)
    phases(attempt, "prepare", "compile", "acquire", "run")
    for number in range(1, STEPS):
        attempt.report(step(1, number))
    attempt.report(epoch_end(1, held_out="validation"), step(2, 1))
    browser.open(f"/jobs/{job.id}")
    browser.until(lambda: len(browser.all("figure")) == 2)

    expected = {
        f"training, each batch {in_percent(0.106)}",
        f"training, epoch mean {in_percent(0.501)}",
        f"validation {in_percent(0.901)}",
    }
    browser.until(lambda: legend(browser) == expected)
    assert browser.complaints() == []


def test_a_validation_part_has_figures_of_its_own(
    browser: Browser, client: Connection, agent: Agent
) -> None:
    job = client.submit({**SPEC, "data": {"kind": "digits", "validation": 0.2}})
    attempt = agent.claim(job.id)
    phases(attempt, "prepare", "compile", "acquire", "run")
    for epoch in (1, 2):
        ended = epoch_end(epoch)
        values = {"validation_accuracy": 0.7 + epoch / 1000, "validation_loss": 0.7}
        attempt.report({**ended, "values": {**ended["values"], **values}})
    browser.open(f"/jobs/{job.id}")
    browser.until(lambda: len(browser.all("figure")) == 2)

    expected = {
        f"test {in_percent(0.902)}",
        f"validation {in_percent(0.702)}",
        f"training, epoch mean {in_percent(0.502)}",
    }
    browser.until(lambda: legend(browser) == expected)
    assert browser.complaints() == []


def test_progress_names_the_steps_before_the_training(
    browser: Browser, client: Connection, agent: Agent
) -> None:
    job = client.submit(SPEC)
    browser.open(f"/jobs/{job.id}")
    browser.until(lambda: "queued for" in browser.text(".activity"))
    attempt = agent.claim(job.id)

    def report(phase: str, message: str, **more: Any) -> None:
        part = {"kind": "progress", "phase": phase, "fraction": 0.5, "message": message, **more}
        attempt.report(part)
        browser.until(lambda: message in browser.text(".activity"))

    report("prepare", "importing TensorFlow", steps_done=1, steps_total=3, remaining_seconds=90.0)
    assert "1 of 3" in browser.text(".activity")
    # The page counts down from when the report was made.
    assert re.search(r"about (90|[1-8]\d) s left", browser.text(".activity"))
    before = browser.text(".activity")
    browser.until(lambda: browser.text(".activity") != before)  # the time moves
    phases(attempt, "prepare", "compile")
    browser.until(lambda: "importing" not in browser.text(".activity"))
    report("compile", "waiting for process 4711, which builds liblif.so", waiting=True)
    phases(attempt, "acquire", "run")
    browser.until(lambda: "4711" not in browser.text(".activity"))
    attempt.finish("diverged", "the loss is no number")
    browser.until(lambda: browser.text(".activity") == "")
    assert browser.complaints() == []


def test_no_view_of_a_phone_scrolls_sideways(
    browser: Browser, client: Connection, agent: Agent, tmp_path: Path
) -> None:
    job = client.submit({**SPEC, "name": "a-name-" * 18})
    attempt = agent.claim(job.id)
    phases(attempt, "prepare", "compile", "acquire", "run")
    attempt.report(step(1, 1), epoch_end(1))
    attempt.store("report.html", "report", b"<html></html>")
    narrow = {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        for path, place in (("/jobs", "table"), (f"/jobs/{job.id}", "figure canvas")):
            browser.open(path)
            browser.driver.refresh()
            browser.find(place)
            assert browser.driver.execute_script(OVERFLOW) == 0, path
        browser.open(f"/jobs/{job.id}/files")
        browser.find("td[data-label='SHA-256']")
        assert browser.driver.execute_script(OVERFLOW) == 0
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
