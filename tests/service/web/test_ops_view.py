"""Custom ops on the page: the list, and layers of other kinds in the form of a new job."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import pytest
import yaml
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.service.pushed_ops import coding, package, pushed, spec
from tests.service.running import InProcess

from .conftest import Page
from .test_accessibility import OVERFLOW, violations

pytestmark = pytest.mark.browser

TEXT = """version: 2
network:
  layers:
    - neurons: 32 # wide
    - {op: {name: "pool_op@sha256:DIGEST"}, neurons: 16} # mine
    - connections: [{kind: conv1d, filters: 4, kernel_size: 3}]
"""
SET = """
    const { editor } = document.querySelector("ip-editor");
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: arguments[0] } });
"""
READ = "return document.querySelector('ip-editor').editor.state.doc.toString()"


def test_pushed_ops_are_listed_with_their_jobs(page: Page, service: InProcess) -> None:
    page.open("/ops")
    page.until(lambda: "ipulse op new" in page.find(".empty").text)
    content = package(note="of the page")
    with coding(service) as coder:
        run(page, service, coder, content)


def run(page: Page, service: InProcess, coder: httpx.Client, content: bytes) -> None:
    assert pushed(coder, content).status_code == 204
    answer = coder.post("/v1/jobs", json={**spec(content), "name": "with an op"})
    assert answer.status_code == 202, answer.text
    page.open("/datasets")
    page.press("Custom ops")
    cells = page.until(lambda: page.texts("tbody td"))
    assert "[steps, batch, senders // width]" in cells[0]
    assert cells[1] == "width: 2, 1 to 8"
    assert cells[5] == "coder"
    assert violations(page) == []
    page.resize(360)
    page.until(lambda: page.driver.execute_script(OVERFLOW) == 0)
    page.resize(1280)
    page.find("tbody td a[href^='/jobs']").click()
    page.until(lambda: page.texts("tbody a.name") == ["with an op"])
    page.open("/ops")
    page.until(lambda: page.texts("tbody td"))
    assert not page.all("tbody button.danger, tbody button[aria-label^=Delete]")
    page.sign_in(coder)
    page.open("/ops")
    page.find("tbody button[aria-label^=Delete]").click()
    page.find("dialog .danger").click()
    page.until(lambda: page.all(".empty"))
    assert service.user.get("/v1/ops").json()["ops"] == []
    shape = ["steps", "batch", "senders"]
    outputs = [{"name": "y", "dtype": "float32", "shape": shape}]
    other = package(note="a text", attributes="scale=2", outputs=outputs)
    assert pushed(coder, other).status_code == 204
    page.open("/ops")
    assert page.until(lambda: page.texts("tbody td"))[1] == "scale=2"
    assert coder.delete(f"/v1/ops/{hashlib.sha256(other).hexdigest()}").status_code == 204


def _layers(page: Page) -> list[Any]:
    document = yaml.safe_load(page.driver.execute_script(READ))
    return list(document["network"]["layers"])


def test_the_form_keeps_layers_of_other_kinds(page: Page, service: InProcess) -> None:
    text = TEXT.replace("DIGEST", hashlib.sha256(b"an op").hexdigest())
    page.open("/new")
    page.until(lambda: page.driver.execute_script(READ))
    page.driver.execute_script(SET, text)

    def field(words: str) -> WebElement:
        [found] = [one for one in page.all("label.field") if one.text.startswith(words)]
        return found.find_element("css selector", "input")

    def layers() -> WebElement:
        return page.until(lambda: field("Neurons of the hidden layers"))

    page.until(lambda: layers().get_property("value") == "32, pool_op, conv1d")
    layers().send_keys(Keys.CONTROL, "a", Keys.NULL, "pool_op, 8, conv1d, 4", Keys.TAB)
    page.until(lambda: "neurons: 8" in page.driver.execute_script(READ))
    lines = [line.strip() for line in page.driver.execute_script(READ).splitlines()[3:]]
    assert lines == [
        text.splitlines()[4].strip(),
        "- neurons: 8 # wide",
        "- connections: [{kind: conv1d, filters: 4, kernel_size: 3}]",
        "- {neurons: 4}",
    ]
    [summary] = [one for one in page.all("summary") if one.text == "layers[1]"]
    page.click(summary)
    field("Second threshold").send_keys("0.5", Keys.TAB)
    wide = {"neurons": 8, "neuron": {"second_threshold": 0.5}}
    page.until(lambda: _layers(page)[1] == wide)
    field("Second threshold").clear()
    field("Second threshold").send_keys(Keys.TAB)
    page.until(lambda: _layers(page)[1] == {"neurons": 8})
    before = page.driver.execute_script(READ)
    layers().send_keys(Keys.CONTROL, "a", Keys.NULL, "8, other_op", Keys.TAB)
    page.until(lambda: not layers().get_property("validity")["valid"])
    assert page.driver.execute_script(READ) == before
