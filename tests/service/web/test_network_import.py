"""A NIR file that is imported in the view of a new job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import nir
import numpy as np
import pytest
import yaml

from ipulse_core.spec.nir_targets import EULER_DECAY
from tests.service.running import InProcess
from tests.worker.runner.nir.test_import import (
    CHAIN,
    chain,
    graph_of,
    li,
    lif,
    linear,
    ones,
    sink,
    source,
)

from .conftest import Page

pytestmark = pytest.mark.browser

READ = "return document.querySelector('ip-editor').editor.state.doc.toString()"


def written(path: Path, *, is_said: bool, **neurons: Any) -> Path:
    """A network of the shape of the digits; is_said: whether it tells how it is solved."""
    nodes = {
        "input": source(64),
        "w1": linear(64, 4),
        "n1": lif(4, **neurons),
        "w2": linear(4, 10),
        "n2": li(10),
        "output": sink(10),
    }
    nir.write(path, graph_of(nodes, chain(*CHAIN)))
    if is_said:
        with h5py.File(path, "a") as file:
            metadata = file["node"].require_group("metadata")
            metadata["discretization"], metadata["dt"] = EULER_DECAY, np.array([0.001])
    return path


def choose(page: Page, path: Path) -> None:
    page.open("/new")
    page.find(".plan-title.ok")
    page.find("input[name=nir]").send_keys(str(path))


def spec(page: Page) -> Any:
    return yaml.safe_load(page.driver.execute_script(READ))


def test_a_network_is_imported_and_submitted(
    page: Page, service: InProcess, tmp_path: Path
) -> None:
    choose(page, written(tmp_path / "their net.nir", is_said=True, v_leak=0.25 * ones(4)))
    page.until(lambda: spec(page)["name"] == "their-net")
    assert spec(page)["version"] == 2
    assert any("v_leak" in note for note in page.texts(".imported li"))
    page.until(lambda: page.texts(".plan-title") == ["Ready to submit"])
    digest = spec(page)["network"]["initial"]["upload"]
    page.press("Close")
    page.until(lambda: page.all(".imported") == [])
    page.press("Submit")
    page.until(lambda: "/jobs/job_" in page.driver.current_url)
    made = page.driver.current_url.rpartition("/")[2].partition("?")[0]
    assert service.job(made)["spec"]["network"]["initial"]["upload"] == digest


def test_an_ambiguous_file_asks_what_it_means(page: Page, tmp_path: Path) -> None:
    choose(page, written(tmp_path / "theirs.nir", is_said=False, tau=20.0 * ones(4)))
    page.until(lambda: any("Sinabs" in text for text in page.texts(".meanings li")))
    before = page.driver.execute_script(READ)
    page.press("writer sinabs")
    # This program has a setting that its files do not tell.
    page.until(lambda: any("norm_input=False" in text for text in page.texts(".meanings li")))
    assert page.driver.execute_script(READ) == before
    [button] = [each for each in page.all(".meanings button") if "unscaled" in each.text]
    button.click()
    page.until(lambda: spec(page)["name"] == "theirs")
    assert page.all(".meanings") == []
    page.find(".plan-title.ok")


def test_a_broken_file_says_which_node_is_wrong(page: Page, tmp_path: Path) -> None:
    choose(page, written(tmp_path / "broken.nir", is_said=True, tau=0 * ones(4)))
    page.until(lambda: any("'n1'" in text and "tau" in text for text in page.texts(".imported")))
    before = page.driver.execute_script(READ)
    (tmp_path / "text.nir").write_text("no HDF5")
    page.find("input[name=nir]").send_keys(str(tmp_path / "text.nir"))
    page.until(lambda: any("cannot be read" in text for text in page.texts(".imported")))
    assert page.driver.execute_script(READ) == before
    page.find(".plan-title.ok")
