"""The live view in a real JupyterLab: it moves with its job, and the notebook keeps a picture."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import nbformat
import pytest

from ipulse.client import Connection
from tests.acceptance.browser import Browser, open_browser
from tests.ipulse.live_service import Agent, LiveService

from .jupyter import jupyterlab
from .scripted_jobs import EPOCHS, experiment, files

pytestmark = [pytest.mark.verify, pytest.mark.browser]

CELL = """
import ipulse
job = ipulse.connect().job("%s")
job.live()
"""
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
VIEW = ".jp-OutputArea-output"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


def command(browser: Browser, name: str) -> None:
    """Begin a command of JupyterLab."""
    browser.driver.execute_script("void jupyterapp.commands.execute(arguments[0])", name)


def opened(browser: Browser, address: str) -> None:
    """Open the notebook, and wait until it is there with its kernel."""
    browser.driver.get(address)
    browser.find(".jp-Notebook .jp-CodeCell")
    ready = "return jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"
    browser.until(lambda: browser.driver.execute_script(ready) == "idle")


def report(attempt: Any, epoch: int) -> None:
    loss, accuracy = EPOCHS[epoch - 1]
    values = {"loss": loss, "test_loss": loss, "test_accuracy": accuracy}
    at = {"kind": "metric", "epoch": epoch, "epochs": 3, "step": 10 * epoch, "steps": 30}
    attempt.report({**at, "values": values, "scope": "epoch"})


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own libraries
def test_the_live_view_moves_and_leaves_a_picture(
    service: LiveService, connection: Connection, agent: Agent, tmp_path: Path
) -> None:
    job = connection.submit(experiment())
    cell = nbformat.v4.new_code_cell(CELL % job.id)
    path = tmp_path / "live.ipynb"
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": KERNEL})
    nbformat.write(notebook, path)
    variables = {"IPULSE_URL": service.url, "IPULSE_TOKEN": service.token}
    port, early = free_port(), tmp_path / "early.ipynb"
    with open_browser(f"http://127.0.0.1:{port}") as browser:
        with jupyterlab(tmp_path, port, variables) as address:
            opened(browser, address % path.name)
            command(browser, "notebook:run-all-cells")
            browser.until(lambda: "queued" in browser.text(VIEW))
            attempt = agent.claim(job.id)
            for phase in ("prepare", "compile", "acquire", "run"):
                attempt.report({"kind": "phase", "phase": phase})
            for epoch, (_, accuracy) in enumerate(EPOCHS, 1):
                report(attempt, epoch)
                shown = f"test_accuracy {accuracy:.4f}"
                browser.until(lambda shown=shown: shown in browser.text(VIEW))
                done = browser.find(f"{VIEW} progress")
                assert done.get_property("value") == epoch
            command(browser, "docmanager:save")  # the job still runs
            browser.until(lambda: "75.0 %" in path.read_text())
            early.write_text(path.read_text())
            attempt.report({"kind": "phase", "phase": "report"})
            for name, content in files().items():
                attempt.store(name, name.partition(".")[0], content)
            attempt.finish(test_accuracy=0.75)
            browser.until(lambda: "succeeded" in browser.text(VIEW))
            command(browser, "docmanager:save")
            browser.until(lambda: "succeeded" in path.read_text())
            opened(browser, address % path.name)  # with its kernel, which lives on
            browser.until(lambda: "succeeded" in browser.text(VIEW))
        with jupyterlab(tmp_path, port, {}) as address:  # the kernel and its widgets are gone
            opened(browser, address % path.name)
            browser.until(lambda: "succeeded" in browser.text(VIEW))
            assert "75.0 %" in browser.text(VIEW)
            assert browser.all(f"{VIEW} polyline")
            opened(browser, address % early.name)  # saved while the job ran
            browser.until(lambda: "running" in browser.text(VIEW))
            assert "75.0 %" in browser.text(VIEW)
            assert "Error" not in browser.text(VIEW)
    [output] = json.loads(path.read_text())["cells"][0]["outputs"]
    assert "succeeded" in "".join(output["data"]["text/html"])
