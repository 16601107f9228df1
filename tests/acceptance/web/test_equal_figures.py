"""One trained job has the same figures wherever they are shown, to the last digit."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By

import ipulse
from ipulse.cli.display.progress import duration as cli_duration
from ipulse.client import Connection
from ipulse.stack.stack import Stack
from ipulse_worker.runner.report.quantities import duration
from tests.acceptance.browser import Browser
from tests.acceptance.jobs import small_spec
from tests.acceptance.locked_tools import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.browser]

EPOCHS = 3
# The charts of page and report, and the metrics of their series by epoch.
CHARTS = {
    "Accuracy": {"test": "test_accuracy", "training, epoch mean": "accuracy"},
    "Loss": {"test": "test_loss", "training, epoch mean": "loss"},
}
METRICS = [name for chart in CHARTS.values() for name in chart.values()]
KINDS = {"test": "test", "training, epoch mean": "training"}  # in the report
PHASES = ("prepare", "compile", "acquire", "run")
Curves = dict[str, list[float]]


@pytest.fixture(scope="module")
def job_id(stack: Stack) -> str:
    with Connection(stack.url, token_file=stack.token_path) as client:
        job = client.submit({**small_spec(EPOCHS), "name": "equal"}).wait(check=False)
    assert job.state.value == "succeeded", job.message
    return job.id


@pytest.fixture
def browser(stack_browser: Browser, stack: Stack) -> Browser:
    stack_browser.open("/login")
    stack_browser.keep_token(stack.token_path.read_text().strip())
    return stack_browser


def printed(stack: Stack, *arguments: str) -> str:
    """Return the output of a command."""
    command = [sys.executable, "-m", "ipulse", *arguments, "--url", stack.url]
    command += ["--token-file", str(stack.token_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def columns(text: str, **of: str) -> Curves:
    """The columns of the metrics in a CSV text, of the rows with these values."""
    rows = [
        row
        for row in csv.DictReader(io.StringIO(text))
        if all(row[name] == value for name, value in of.items())
    ]
    return {name: [float(row[name]) for row in rows] for name in METRICS}


def of_page(browser: Browser, job_id: str, folder: Path) -> Curves:
    """The values of the charts, as their CSV files have them; shares are in percent."""
    behavior = {"behavior": "allow", "downloadPath": str(folder)}
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
    browser.open(f"/jobs/{job_id}/metrics")
    found: Curves = {}
    for chart, series in CHARTS.items():
        place = f"//ip-curve[.//h3[starts-with(normalize-space(), '{chart}')]]//button[.='CSV']"
        browser.until(lambda place=place: browser.driver.find_element(By.XPATH, place)).click()
        path = folder / f"{chart}.csv"
        browser.until(path.exists)
        rows = list(csv.DictReader(io.StringIO(path.read_text())))
        for label, name in series.items():
            found[name] = [float(row[label]) for row in rows if row[label]]
    return found


def of_report(text: str) -> Curves:
    """The values that the report's script draws; shares are in percent."""
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    charts = [json.loads(block) for block in blocks[: len(CHARTS)]]
    return {
        name: next(one["values"] for one in data["series"] if one["name"] == KINDS[label])
        for data, series in zip(charts, CHARTS.values(), strict=True)
        for label, name in series.items()
    }


def in_percent(curves: Curves) -> Curves:
    """Return the values of page and report: shares times 100."""
    return {
        name: [100 * value for value in values] if name.endswith("accuracy") else values
        for name, values in curves.items()
    }


def test_epoch_series_are_equal_to_the_last_digit(
    stack: Stack, browser: Browser, job_id: str, tmp_path: Path
) -> None:
    with ipulse.connect(stack.url, token_file=stack.token_path) as connection:
        job = connection.job(job_id)
        in_python = job.metrics(*METRICS, as_="columns")
        job.download(tmp_path)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    epochs = [record for record in map(json.loads, lines) if record["scope"] == "epoch"]
    written = {name: [float(record[name]) for record in epochs] for name in METRICS}
    assert len(set(written["loss"])) == EPOCHS
    assert {name: in_python[name] for name in METRICS} == written
    assert columns(printed(stack, "metrics", job_id, "--csv")) == written
    printed(stack, "export", "csv", job_id, "--to", str(tmp_path / "csv"))
    exported = (tmp_path / "csv" / "metrics_wide.csv").read_text()
    assert columns(exported, scope="epoch") == written
    report = (tmp_path / "report.html").read_text()
    assert of_report(report) == in_percent(written)
    assert of_page(browser, job_id, tmp_path) == in_percent(written)


def test_phase_seconds_are_equal(
    stack: Stack, browser: Browser, job_id: str, tmp_path: Path
) -> None:
    """The report's own phase ends after report and profile were written, so that it is apart."""
    status = json.loads(printed(stack, "status", job_id, "--json"))["phase_seconds"]
    profile = json.loads(printed(stack, "profile", job_id, "--json"))["execution"]["phases"]
    measured = {phase["name"]: phase["seconds"] for phase in profile}
    assert [phase["name"] for phase in profile] == [*PHASES, "report"]
    for name in PHASES:
        assert status[name] == pytest.approx(measured[name], abs=0.0006), name  # milliseconds
    shown = printed(stack, "status", job_id)
    table = printed(stack, "profile", job_id)
    with ipulse.connect(stack.url, token_file=stack.token_path) as connection:
        connection.job(job_id).download(tmp_path)
    report = (tmp_path / "report.html").read_text()
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", report[report.index('id="time"') :], re.DOTALL)
    cells = [[text.strip() for text in re.sub(r"<[^>]+>", "\0", row).split("\0")] for row in rows]
    browser.open(f"/jobs/{job_id}")
    browser.until(lambda: len(browser.all(".phases .done")) == 5)
    on_page = dict(one.text.split("\n") for one in browser.all(".phases .done"))
    for name in PHASES:
        seconds = measured[name]
        assert f"{name} {cli_duration(seconds)}" in shown
        assert re.search(rf"^ *{name} +{seconds:.3f} s", table, re.MULTILINE)
        assert any(row[-1:] and duration(seconds) in row and name in row for row in cells), name
        assert on_page[name.capitalize()] == cli_duration(status[name])
