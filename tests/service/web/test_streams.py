"""The event streams of the page: cut, hidden, and in many tabs of one browser."""

from __future__ import annotations

import pytest

from tests.service.agents import METRIC, Attempt, phase
from tests.service.running import SPEC, InProcess

from .conftest import Page

pytestmark = pytest.mark.browser

CUTS = 20
TABS = 30
# Each curve as the page knows it: the epochs, and their values.
KNOWN = """
    const store = document.querySelector("ip-job")?.store;
    const curve = store?.series.get("epoch test_accuracy");
    return curve ? [[...curve.epoch], [...curve.values], store.broken] : [[], [], null];
"""
CUT = "for (const kind of ['pagehide', 'pageshow']) dispatchEvent(new Event(kind))"


def begun(service: InProcess) -> Attempt:
    attempt = service.attempt(service.submit({**SPEC, "name": "streamed"})["id"])
    attempt.report(*map(phase, ("prepare", "compile", "acquire", "run")))
    return attempt


def measure(attempt: Attempt, epoch: int) -> None:
    at = {"epoch": epoch, "epochs": CUTS, "step": epoch, "steps": CUTS}
    values = {"test_accuracy": epoch / CUTS}
    attempt.report({**METRIC, **at, "scope": "epoch", "values": values})


def test_a_stream_that_is_cut_twenty_times_loses_and_doubles_nothing(
    page: Page, service: InProcess
) -> None:
    attempt = begun(service)
    page.open(f"/jobs/{attempt.claim['job_id']}")
    page.find(".phases")
    for epoch in range(1, CUTS + 1):
        measure(attempt, epoch)
        page.driver.execute_script(CUT)
    epochs = list(range(1, CUTS + 1))
    expected = [epochs, [epoch / CUTS for epoch in epochs], None]
    page.until(lambda: page.driver.execute_script(KNOWN) == expected)


@pytest.mark.verify
def test_with_thirty_tabs_open_another_request_is_answered(page: Page, service: InProcess) -> None:
    attempt = begun(service)
    path = f"/jobs/{attempt.claim['job_id']}/log"
    first = page.driver.current_window_handle
    try:
        for _ in range(TABS - 1):
            page.driver.switch_to.new_window("tab")
            page.open(path)
            page.find(".log")
        page.driver.switch_to.window(first)
        page.open(path)
        page.find(".log")
        script = "const done = arguments[0]; fetch('/v1/jobs').then(({ status }) => done(status))"
        assert page.driver.execute_async_script(script) == 200
        measure(attempt, 1)  # and the tab that is seen gets it
        page.until(lambda: page.driver.execute_script(KNOWN)[0] == [1])
    finally:
        for handle in page.driver.window_handles:
            if handle != first:
                page.driver.switch_to.window(handle)
                page.driver.close()
        page.driver.switch_to.window(first)
