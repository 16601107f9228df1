"""Packages of neurons on the page: on the agents, and in the form of a new job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from ipulse.stack.redis_server import RedisServer
from tests.service.http.routes.test_neuron_packages import DECAY, PACKAGE
from tests.service.http.routes.test_queue import announce
from tests.service.running import InProcess, settings_for
from tests.service.web.conftest import Page
from tests.service.web.test_accessibility import OVERFLOW, violations
from tests.service.web.test_ops_view import READ, SET

pytestmark = pytest.mark.browser

COUPLING = {**DECAY, "name": "coupling", "default": 0.1, "per_neuron": False, "trainable": True}
TEXT = """version: 2 # mine
network:
  layers:
    - neurons: 32 # wide
"""


@pytest.fixture
def service(tmp_path: Path, redis_server: RedisServer) -> Iterator[InProcess]:
    """A service whose owner signed off one package, which one agent has."""
    settings = settings_for(tmp_path / "home", redis_server.url, neuron_packages=[PACKAGE])
    with InProcess(settings) as running:
        described = {"package": PACKAGE, "version": "dendrites 1.0"}
        packages = [{**described, "parameters": [DECAY, COUPLING]}]
        announce(running, "a", "cpu", neuron_packages=packages)
        announce(running, "b", "cpu")
        yield running


def test_agents_show_their_packages(page: Page) -> None:
    page.open("/devices")
    [text] = page.until(lambda: page.texts(".agent .packages li"))
    assert "dendrites" in text
    assert PACKAGE.partition("sha256:")[2][:12] in text
    assert "decay, coupling" in text
    assert violations(page) == []
    page.resize(400)
    page.until(lambda: page.driver.execute_script(OVERFLOW) == 0)


def test_a_layer_of_a_package_is_added_and_its_parameters_are_set(page: Page) -> None:
    page.open("/new")
    page.until(lambda: page.driver.execute_script(READ))
    page.driver.execute_script(SET, TEXT)

    def field(words: str, kind: str = "input") -> WebElement:
        [found] = [one for one in page.all("label") if one.text.strip().startswith(words)]
        return found.find_element("css selector", kind)

    def layer() -> dict[str, Any]:
        document = yaml.safe_load(page.driver.execute_script(READ))
        return dict(document["network"]["layers"][1])

    Select(page.until(lambda: field("Add a hidden layer", "select"))).select_by_value(PACKAGE)
    page.until(lambda: layer()["neuron"]["package"] == PACKAGE)
    assert (layer()["neuron"]["kind"], layer()["neurons"]) == ("package", 32)
    page.until(lambda: field("decay")).send_keys("0.5", Keys.TAB)
    page.until(lambda: layer()["neuron"]["parameters"] == [{"name": "decay", "value": 0.5}])
    page.until(lambda: field("Train coupling")).click()
    trained = {"name": "coupling", "per": "layer", "trained": True}
    page.until(lambda: layer()["neuron"]["parameters"][1:] == [trained])
    page.until(lambda: page.texts(".plan-title [role=status]") == ["Ready to submit"])
    assert violations(page) == []
    page.resize(400)
    page.until(lambda: page.driver.execute_script(OVERFLOW) == 0)
    page.resize(1280)
    field("Train coupling").click()
    page.until(lambda: len(layer()["neuron"]["parameters"]) == 1)
    field("decay").clear()
    field("decay").send_keys(Keys.TAB)
    page.until(lambda: "parameters" not in layer()["neuron"])
    assert "# wide" in page.driver.execute_script(READ)
    assert field("Neurons of the hidden").get_property("value") == "32, dendrites"


def test_a_package_that_is_not_accepted_is_named(page: Page) -> None:
    page.open("/new")
    page.until(lambda: page.driver.execute_script(READ))
    other = f"others@sha256:{'0' * 64}"
    layer = f"    - {{neurons: 8, neuron: {{kind: package, package: '{other}'}}}}\n"
    page.driver.execute_script(SET, TEXT + layer)
    page.until(lambda: any("others" in text for text in page.texts("h2")))
    [chosen] = [one for one in page.all("label.field") if one.text.startswith("Package\n")]
    select = Select(chosen.find_element("css selector", "select"))
    assert "not accepted" in select.first_selected_option.text
    select.select_by_value(PACKAGE)
    page.until(lambda: other not in page.driver.execute_script(READ))
