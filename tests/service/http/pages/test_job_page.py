"""A job's page in a real browser: how its phases ended and what it waits for."""

from __future__ import annotations

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from tests.service.agents import phase
from tests.service.conditions import eventually
from tests.service.http.pages.test_api_pages import sign_in
from tests.service.running import InProcess

pytestmark = pytest.mark.browser

OUTCOMES = """
    return Object.fromEntries([...document.querySelectorAll(".phases li")].map(
      (item) => [item.querySelector("b").textContent.trim(), item.className]));
"""
# True if the name of the failed phase has the palette's colour of errors.
IS_RED = """
    const probe = document.createElement("i");
    probe.style.color = "var(--bad)";
    document.body.append(probe);
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return getComputedStyle(document.querySelector(".phases .failed b")).color === colour;
"""


def open_job(driver: webdriver.Chrome, service: InProcess, job_id: str) -> None:
    sign_in(driver, service)
    driver.get(f"{service.url}/jobs/{job_id}")
    eventually(lambda: driver.find_elements(By.CSS_SELECTOR, ".phases li"))


def outcomes(driver: webdriver.Chrome) -> dict[str, str]:
    shown: dict[str, str] = driver.execute_script(OUTCOMES)
    return {name.lower(): outcome for name, outcome in shown.items()}


def test_the_phase_that_failed_is_not_green(driver: webdriver.Chrome, service: InProcess) -> None:
    job_id = service.submit()["id"]
    first = service.attempt(job_id)
    first.report(phase("prepare"), phase("compile"), phase("acquire"), phase("run"))
    first.finish("worker_stopped")
    eventually(lambda: service.job(job_id)["state"] == "queued")
    second = service.attempt(job_id)
    second.report(phase("prepare"), phase("compile"))
    second.finish("device_out_of_memory", "A tile is too small.")
    open_job(driver, service, job_id)
    expected = {
        "prepare": "done",
        "compile": "failed",
        "acquire": "skipped",
        "run": "skipped",
        "report": "skipped",
    }
    eventually(lambda: outcomes(driver) == expected)
    assert driver.execute_script(IS_RED)
    failed = driver.find_element(By.CSS_SELECTOR, ".phases li.failed")
    assert "failed" in failed.text, "colour alone says nothing to some"


def test_all_phases_of_a_success_are_green(driver: webdriver.Chrome, service: InProcess) -> None:
    job_id = service.submit()["id"]
    service.attempt(job_id).complete()
    open_job(driver, service, job_id)
    eventually(lambda: set(outcomes(driver).values()) == {"done"})


def test_a_pause_is_not_called_a_cancellation(driver: webdriver.Chrome, service: InProcess) -> None:
    job_id = service.submit()["id"]
    for number in (1, 2):
        attempt = service.attempt(job_id)
        attempt.report(phase("prepare"))
        service.user.post(f"/v1/jobs/{job_id}/pause")
        attempt.finish("cancelled_by_user")
        if number == 1:
            service.user.post(f"/v1/jobs/{job_id}/resume")
    open_job(driver, service, job_id)
    driver.get(f"{service.url}/jobs/{job_id}/attempts")
    eventually(lambda: driver.find_elements(By.CSS_SELECTOR, "ip-job-attempts tbody tr"))
    page = driver.find_element(By.TAG_NAME, "main").text
    assert page.count("paused by user") == 2
    assert "cancelled by user" not in page
