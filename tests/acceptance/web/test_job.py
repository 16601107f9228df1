"""The page of one job; the test plays the agent of the jobs."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from ipulse.client import Connection
from tests.acceptance.browser import OVERFLOW, Browser
from tests.ipulse.live_service import Agent, Attempt
from tests.worker.runner.report.tile_documents import document

pytestmark = [pytest.mark.slow, pytest.mark.browser]

SPEC = {
    "version": 1,
    "name": "one job",
    "network": {"layers": [{"neurons": 8}]},
    "training": {"epochs": 3},
}
# A profile of an emulated attempt without a measured step.
PROFILE = {
    "versions": {"ipulse": "1"},
    "compilation": {"target": {"type": "Emulated", "emulated": True}, "kernel": {}},
    "execution": {
        "phases": [{"name": "run", "seconds": 2.0}],
        "runs": [{"samples_per_second": None, "layers": None, "steps": {"count": 0}}],
    },
    "activity": {"layers": []},
    "memory": {"peakRss": {"bytes": 4096, "how": "measured"}},
}
LINES = 5000


def log(message: str, level: str = "info") -> dict[str, Any]:
    return {"kind": "log", "message": message, "level": level, "stream": "runner"}


def begin(client: Connection, agent: Agent, *phases: str) -> Attempt:
    attempt = agent.claim(client.submit(SPEC).id)
    attempt.report(*({"kind": "phase", "phase": phase} for phase in phases))
    return attempt


def job_of(client: Connection) -> str:
    return next(iter(client.jobs())).id


def outcomes(browser: Browser) -> list[str]:
    return [
        each.get_attribute("class") for each in browser.until(lambda: browser.all(".phases li"))
    ]


def test_a_failed_job_says_what_to_do(browser: Browser, client: Connection, agent: Agent) -> None:
    attempt = begin(client, agent, "prepare", "compile", "acquire", "run")
    attempt.report(*(log(f"line {number}") for number in range(40)), log("no memory", "error"))
    attempt.finish("out_of_memory", "The worker does not have enough memory.")
    browser.open(f"/jobs/{job_of(client)}")
    shown = browser.find(".outcome.failed")
    assert "The worker does not have enough memory." in shown.text
    assert "batch_size" in shown.text
    tail = browser.text(".tail").splitlines()
    assert len(tail) == 20
    assert tail[-2:] == ["no memory", "out_of_memory: The worker does not have enough memory."]
    browser.until(lambda: outcomes(browser) == [*["done"] * 3, "failed", "skipped"])
    assert browser.find(".head .primary").get_attribute("href").endswith(f"from={job_of(client)}")
    assert browser.complaints() == []


def test_a_long_log_is_searched_without_a_node_for_each_line(
    browser: Browser, client: Connection, agent: Agent
) -> None:
    attempt = begin(client, agent, "prepare")
    for first in range(0, LINES, 500):
        attempt.report(*(log(f"line {number} of a log") for number in range(first, first + 500)))
    attempt.report(log("something odd", "warning"), log("line of <b>markup</b>", "error"))
    browser.open(f"/jobs/{job_of(client)}/log")
    browser.until(lambda: f"{LINES + 4:,} lines" in browser.text(".log-foot"))
    browser.until(lambda: "line of <b>markup</b>" in browser.text(".log"))  # the last one
    assert len(browser.all(".log-line")) < 150
    find = browser.find(".find input")
    find.send_keys("/line 12[0-9]+ /")
    browser.until(lambda: "of 110" in browser.text(".log-bar"))
    find.send_keys(Keys.ENTER)
    browser.until(lambda: "line 120 of" in browser.text(".log-line.current"))
    find.send_keys(Keys.ENTER)
    browser.until(lambda: "line 121 of" in browser.text(".log-line.current"))
    address = browser.driver.current_url
    browser.driver.refresh()  # the address holds the search
    browser.until(lambda: "of 110" in browser.text(".log-bar"))
    assert browser.driver.current_url == address
    browser.open(f"/jobs/{job_of(client)}/log?level=warning")
    browser.until(lambda: f"of {LINES + 4:,}" in browser.text(".log-foot"))
    levels = {line.get_attribute("class").split()[-1] for line in browser.all(".log-line")}
    assert {"warning", "error"} <= levels
    browser.open(f"/jobs/{job_of(client)}/log#L1234")
    browser.until(lambda: browser.text(".log-line.current").startswith("1234"))
    assert browser.complaints() == []


def test_one_action_is_the_main_one(browser: Browser, client: Connection, agent: Agent) -> None:
    attempt = begin(client, agent, "prepare", "compile", "acquire", "run")
    job_id = job_of(client)
    browser.open(f"/jobs/{job_id}")
    browser.until(lambda: browser.text(".head .primary") == "Stop and keep")
    browser.press("Pause")
    browser.until(lambda: client.job(job_id).state == "pausing")
    attempt.report({"kind": "checkpoint", "path": "checkpoint.npz", "epoch": 2, "step": 20})
    attempt.finish("cancelled_by_user", "Paused.")
    browser.until(lambda: "Paused" in browser.text(".outcome h2"))
    browser.until(lambda: "epoch 2" in browser.text(".outcome"))
    browser.until(lambda: outcomes(browser)[3] == "paused")
    assert browser.text(".head .primary") == "Resume"
    browser.press("Resume")
    browser.until(lambda: client.job(job_id).state in ("queued", "preparing"))
    client.job(job_id).cancel()
    browser.find(".chip.cancelled")
    browser.press("Jobs")
    assert browser.complaints() == []


def test_files_are_previewed(
    browser: Browser, client: Connection, agent: Agent, tmp_path: Any
) -> None:
    attempt = begin(client, agent, "prepare", "compile", "acquire", "run", "report")
    path = tmp_path / "weights.npz"
    np.savez(path, layer_1=np.array([[-1.5, 0.5], [2.25, 0.75]], np.float32), empty=np.zeros(0))
    attempt.store("weights.npz", "weights", path.read_bytes())
    attempt.store("profile.json", "profile", json.dumps({"name": "<i>x</i>"}).encode())
    attempt.store("report.html", "report", b"<!doctype html><title>t</title><h1>mine</h1>")
    attempt.store("manifest.json", "manifest", b"{}")
    attempt.finish()
    job_id = job_of(client)
    browser.open(f"/jobs/{job_id}/files")

    def preview(name: str) -> None:
        row = f"//tr[.//*[normalize-space()='{name}']]//button[normalize-space()='Preview']"
        browser.until(lambda: browser.driver.find_element("xpath", row)).click()

    preview("weights.npz")
    cells = ["f4", "2 × 2", "−1.5", "0.5", "2.25"]
    row = "//table[caption='Arrays']/tbody/tr[1]/td"
    look = partial(browser.driver.find_elements, "xpath", row)
    browser.until(lambda: [cell.text for cell in look()] == cells)
    preview("profile.json")
    browser.until(lambda: "<i>x</i>" in browser.text(".tree"))
    browser.press("Report")
    frame = browser.find("iframe")
    assert frame.get_attribute("sandbox") == "allow-scripts"
    browser.driver.switch_to.frame(frame)
    browser.until(lambda: browser.text("h1") == "mine")
    assert browser.driver.execute_script("return window.origin") == "null"
    browser.driver.switch_to.default_content()
    assert browser.complaints() == []


def test_a_profile_of_tiles_is_shown(browser: Browser, client: Connection, agent: Agent) -> None:
    attempt = begin(client, agent, "prepare", "compile", "acquire", "run", "report")
    attempt.store("poplar_profile.json", "poplar_profile", json.dumps(document()).encode())
    attempt.store("profile.json", "profile", json.dumps(PROFILE).encode())
    attempt.store("manifest.json", "manifest", b"{}")
    attempt.finish()
    browser.open(f"/jobs/{job_of(client)}/profile")
    browser.until(lambda: "6,020 cycles: compute 81.4 %" in browser.text("ip-job-profile"))
    assert "layer1/integrate" in browser.text("ip-job-profile")
    browser.press("Memory")
    browser.until(lambda: "The fullest tile, number 3," in browser.text("ip-job-profile"))
    assert browser.complaints() == []


def test_latest_and_beginnings_of_ids_are_addresses(browser: Browser, client: Connection) -> None:
    job_id = client.submit({**SPEC, "name": "newest"}).id
    for short in ("latest", job_id[4:12], job_id[:12]):
        browser.open(f"/jobs/{short}/config")
        browser.until(lambda: browser.driver.current_url.endswith(f"/jobs/{job_id}/config"))
        browser.until(lambda: browser.text("h1") == "newest")
    yaml = browser.text(".yaml")
    assert yaml.splitlines()[:2] == ["version: 2", "name: newest"]
    assert "surrogate" not in yaml  # only what differs from the defaults
    browser.press("All settings")
    browser.until(lambda: "surrogate" in browser.text(".yaml"))
    assert browser.driver.current_url.endswith("view=all")
    client.job(job_id).cancel()


def test_pages_that_were_left_hold_no_connection(
    browser: Browser, client: Connection, agent: Agent
) -> None:
    """A browser has six connections to a service, and waits a minute for one that is held."""
    attempt = begin(client, agent, "prepare")
    for _ in range(10):
        attempt.report(*(log(f"line {number}") for number in range(500)))
    job_id = job_of(client)
    for _ in range(6):
        browser.open(f"/jobs/{job_id}/log")
        browser.until(lambda: browser.text("h1") == SPEC["name"])
        begun = time.monotonic()
        browser.open("/jobs")
        browser.until(lambda: browser.all("tbody tr"))
        assert time.monotonic() - begun < 40
    client.job(job_id).cancel()


@pytest.mark.verify
def test_every_tab_of_every_state_fits_a_phone(browser: Browser, client: Connection) -> None:
    narrow = {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    tabs = ("", "metrics", "spikes", "layers", "profile", "log", "attempts", "config", "files")
    try:
        for job in list(client.jobs())[:3]:
            for tab in tabs:
                browser.open(f"/jobs/{job.id}/{tab}".rstrip("/"))
                browser.until(lambda: not browser.all(".skeleton") and browser.all(".tabs"))
                assert browser.driver.execute_script(OVERFLOW) == 0, tab
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert browser.complaints() == []
