"""Jobs are found, and a running one is stopped, read and downloaded, without a pointer."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from tests.service.agents import line, phase
from tests.service.conditions import eventually
from tests.service.running import SPEC, InProcess

from .conftest import ENTER, Page

pytestmark = pytest.mark.browser

MOST_TABS = 60
# The words of the element with the focus, and whether it can be seen: not hidden, with a ring.
FOCUS = """
    const { activeElement: one } = document;
    const box = one.getBoundingClientRect();
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const ring = getComputedStyle(one).outlineStyle !== "none" || one.matches("main, .search *");
    const isSeen = one === document.body || (ring && (one.contains(top) || top?.contains(one)));
    return [one.getAttribute("aria-label") ?? one.innerText.trim(), isSeen];
"""


def tab_to(page: Page, words: str) -> None:
    """Press Tab until the focus is on this; each stop on the way must be visible."""
    for _ in range(MOST_TABS):
        found, is_seen = page.driver.execute_script(FOCUS)
        assert is_seen, found
        if found == words:
            return
        page.type(Keys.TAB)
    raise AssertionError(f"{MOST_TABS} tabs do not lead to {words}")


def test_from_the_list_to_the_files_by_keyboard_alone(
    page: Page, service: InProcess, tmp_path: Path
) -> None:
    job_id = service.submit({**SPEC, "name": "by keyboard"})["id"]
    attempt = service.attempt(job_id)
    attempt.report(*map(phase, ("prepare", "compile", "acquire", "run")), line("begins"))
    page.open("/jobs")
    page.find("table a.name")
    page.type("/")
    page.type("name:by*" + ENTER)
    page.until(lambda: page.texts("table a.name") == ["by keyboard"])
    page.type(Keys.ESCAPE)
    tab_to(page, "by keyboard")
    page.type(ENTER)
    page.until(lambda: page.address() == f"/jobs/{job_id}")
    page.until(lambda: "Stop and keep" in page.texts("button"))
    tab_to(page, "Stop and keep")
    page.type(ENTER)
    eventually(lambda: attempt.orders(0).json()["finish"])
    attempt.report(phase("report"))
    attempt.put("weights.npz", "weights", b"weights")
    attempt.put("manifest.json", "manifest")
    attempt.finish("finished_early")
    page.find(".chip.succeeded")
    tab_to(page, "Log")
    page.type(ENTER)
    page.until(lambda: any("begins" in text for text in page.texts(".log-line")))
    page.driver.execute_script("document.querySelector('.tabs a').focus()")
    tab_to(page, "Files")
    page.type(ENTER)
    page.until(lambda: "weights.npz" in " ".join(page.texts(".files tbody th")))
    behavior = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
    tab_to(page, "Download weights.npz")
    page.type(ENTER)
    eventually(lambda: [file.read_bytes() for file in tmp_path.glob("*.npz")] == [b"weights"])


def test_labels_are_suggested_and_linked_in_quotes(page: Page, service: InProcess) -> None:
    label = {'my "team"': "C:\\a b\\"}
    service.submit({**SPEC, "name": "labelled", "metadata": label})
    page.open("/jobs")
    field = page.find("ip-search input")
    field.send_keys("label.my")
    page.until(lambda: any("label.my" in text for text in page.texts("#suggestions li")))
    field.send_keys(Keys.ARROW_DOWN, ENTER)
    page.until(lambda: any("C:" in text for text in page.texts("#suggestions li")))
    field.send_keys(Keys.ARROW_DOWN, ENTER)
    page.until(lambda: page.texts("tbody a.name") == ["labelled"])
    written = r'label."my \"team\"":"C:\\a b\\"'
    assert page.find("ip-search input").get_property("value").strip() == written
    page.open("/jobs?label=my+%22team%22=C:%5Ca+b%5C")  # an address of an older version
    page.until(lambda: page.find("ip-search input").get_property("value") == written)
    page.until(lambda: page.texts("tbody a.name") == ["labelled"])
