"""A new job on the page: the editor, the form, the check, and the draft."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from ipulse.client import Connection
from tests.acceptance.browser import Browser
from tests.service.datasets.files import spikes

pytestmark = [pytest.mark.slow, pytest.mark.browser]

SPEC = """# mine
version: 2
name: first  # a name
network:
  layers:
    - {neurons: 8}  # small
"""


@pytest.fixture(autouse=True)
def no_draft(browser: Browser) -> None:
    browser.driver.execute_script("localStorage.removeItem('ipulse-draft')")


def text(browser: Browser) -> str:
    script = "return document.querySelector('ip-editor')?.editor?.state.doc.toString() ?? ''"
    shown: str = browser.driver.execute_script(script)
    return shown


def content(browser: Browser) -> WebElement:
    return browser.until(
        lambda: browser.find("ip-editor").shadow_root.find_element(By.CSS_SELECTOR, ".cm-content")
    )


def write(browser: Browser, spec: str) -> None:
    """Replace the text, as by a paste."""
    content(browser)
    browser.driver.execute_script(
        "const { editor } = document.querySelector('ip-editor');"
        "const whole = { from: 0, to: editor.state.doc.length, insert: arguments[0] };"
        "editor.dispatch({ changes: whole });",
        spec,
    )


def title(browser: Browser) -> str:
    return browser.text(".plan-title")


def ready(browser: Browser) -> None:
    browser.until(lambda: title(browser) == "Ready to submit")


def field(browser: Browser, words: str) -> WebElement:
    path = f"//label[span[normalize-space()='{words}']]//*[self::input or self::select]"
    return browser.until(lambda: browser.driver.find_element(By.XPATH, path))


def test_every_example_is_valid(browser: Browser, client: Connection, tmp_path: Path) -> None:
    (tmp_path / "mine.npz").write_bytes(spikes(samples=40, steps=10, channels=8))
    client.push_dataset(tmp_path / "mine.npz", "mine")  # as an example says
    browser.open("/new")
    ready(browser)
    menu = Select(browser.find("select[aria-label=Example]"))
    names = [option.get_attribute("value") for option in menu.options][1:]
    assert len(names) >= 5
    for name in names[1:]:
        before = text(browser)
        Select(browser.find("select[aria-label=Example]")).select_by_value(name or "")
        browser.until(lambda before=before: text(browser) != before)
        assert browser.until(lambda: "checking" not in title(browser) and title(browser))
        ready(browser)
    assert browser.complaints() == []


def test_a_typo_is_marked_at_its_line(browser: Browser) -> None:
    browser.open("/new")
    write(browser, SPEC.replace("{neurons: 8}", "{neurons: 8, neuron: {secnd_threshold: 0.5}}"))
    browser.until(lambda: title(browser) == "1 problem")
    problem = browser.find(".plan .wrong")
    assert problem.text.startswith("line 6: ")
    assert "did you mean second_threshold?" in problem.text
    root = browser.find("ip-editor").shadow_root
    marked = browser.until(lambda: root.find_element(By.CSS_SELECTOR, ".cm-lintRange-error"))
    assert marked.text == "secnd_threshold"
    assert not browser.find("button[type=submit]").is_enabled()
    write(browser, "version: 2\nname: [")
    browser.until(lambda: "problem" in title(browser) and "line 2" in browser.text(".plan"))
    assert browser.complaints() == []


def test_the_form_keeps_comments(browser: Browser) -> None:
    browser.open("/new")
    write(browser, SPEC)
    ready(browser)
    name = field(browser, "Name")
    name.send_keys(Keys.CONTROL, "a", Keys.NULL, "second", Keys.TAB)
    browser.until(lambda: "name: second # a name" in text(browser))
    layers = field(browser, "Neurons of the hidden layers")
    layers.send_keys(Keys.CONTROL, "a", Keys.NULL, "16, 4", Keys.TAB)
    browser.until(lambda: text(browser).count("neurons:") == 2)
    rate = field(browser, "Learning rate")
    rate.send_keys("0.02", Keys.TAB)
    browser.until(lambda: "learning_rate: 0.02" in text(browser))
    shown = text(browser)
    assert "# mine" in shown
    assert "# small" in shown
    assert "neurons: 16" in shown
    ready(browser)


def test_a_draft_survives_a_reload_and_is_submitted_once(
    browser: Browser, client: Connection
) -> None:
    browser.open("/new")
    write(browser, SPEC.replace("first", "my draft"))
    ready(browser)
    browser.driver.refresh()
    browser.until(lambda: "my draft" in text(browser))
    ready(browser)
    browser.press("Submit")
    browser.until(lambda: browser.text("h1") == "my draft")
    assert [job.json["name"] for job in client.jobs()].count("my draft") == 1
    browser.open("/new")
    browser.until(lambda: text(browser) and "my draft" not in text(browser))
    assert browser.complaints() == []


def test_a_clone_has_what_its_parent_set(browser: Browser, client: Connection) -> None:
    parent = client.submit(
        {"version": 1, "name": "parent", "network": {"layers": [{"neurons": 9}]}, "seed": 5}
    )
    browser.open(f"/new?from={parent.id}")
    browser.until(lambda: "neurons: 9" in text(browser))
    assert text(browser).splitlines()[:3] == ["version: 2", "name: parent", "seed: 5"]
    assert "surrogate" not in text(browser)
    ready(browser)
    assert "position" in browser.text(".plan").lower() or "waits" in browser.text(".plan")


def test_fields_are_completed_from_the_schema(browser: Browser) -> None:
    browser.open("/new")
    write(browser, "version: 2\ntraining:\n  ")
    editor = content(browser)
    editor.click()
    editor.send_keys(Keys.CONTROL + Keys.END)
    editor.send_keys("bat")
    root = browser.find("ip-editor").shadow_root
    first = browser.until(lambda: root.find_element(By.CSS_SELECTOR, "[aria-selected=true]"))
    assert first.text.startswith("batch_size")


def test_a_job_is_submitted_by_keyboard_alone(browser: Browser, client: Connection) -> None:
    browser.open("/new")
    write(browser, SPEC.replace("first", "by keys"))
    ready(browser)
    content(browser).send_keys(Keys.CONTROL, Keys.HOME, Keys.NULL, Keys.TAB)
    for _ in range(60):  # all fields come before it
        focused = browser.driver.switch_to.active_element
        if focused.get_attribute("type") == "submit":
            break
        focused.send_keys(Keys.TAB)
    assert focused.value_of_css_property("outline-style") == "solid"
    focused.send_keys(Keys.ENTER)
    browser.until(lambda: browser.text("h1") == "by keys")
    browser.open("/new")
    write(browser, SPEC.replace("first", "from the editor"))
    ready(browser)
    content(browser).send_keys(Keys.CONTROL, Keys.ENTER)
    browser.until(lambda: browser.text("h1") == "from the editor")
    assert {"by keys", "from the editor"} <= {job.json["name"] for job in client.jobs()}
