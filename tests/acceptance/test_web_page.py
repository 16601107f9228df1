"""The web page in a real browser and with a real stack: sign in, submit, watch, read the report."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.action_chains import ActionChains

from ipulse.client import Connection
from ipulse.stack.stack import Stack

from .browser import Browser
from .jobs import small_spec

pytestmark = [pytest.mark.slow, pytest.mark.browser]

# How many pixels of the first chart have a colour of the page's.
PIXELS = """
    const probe = document.createElement("i");
    probe.style.color = `var(${arguments[0]})`;
    document.body.append(probe);
    const [red, green, blue] = getComputedStyle(probe).color.match(/[0-9]+/g).map(Number);
    probe.remove();
    const { width, height } = document.querySelector("figure canvas");
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(document.querySelector("figure canvas"), 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) {
      found += data[i] === red && data[i + 1] === green && data[i + 2] === blue;
    }
    return found;
"""
# The page's clocks, a hundred times as fast.
HURRIED = """
    for (const name of ["setTimeout", "setInterval"]) {
      const set = window[name];
      window[name] = (act, ms, ...more) => set(act, ms / 100, ...more);
    }
"""


# The tabs of a job that has succeeded, and an element that only a complete one has.
TABS = {
    "Metrics": "ip-curve canvas",
    "Spikes": ".raster canvas",
    "Layers": "ip-job-layers tbody tr:nth-child(2)",
    "Profile": ".stack",
    "Attempts": "ip-job-attempts tbody tr",
    "Config": ".yaml .key",
    "Files": ".files tbody tr:nth-child(5)",
}


@pytest.fixture
def browser(stack_browser: Browser) -> Browser:
    """The browser, signed out."""
    stack_browser.open("/login")
    stack_browser.driver.delete_all_cookies()
    return stack_browser


@pytest.fixture
def signed_in(browser: Browser, stack: Stack) -> Browser:
    browser.keep_token(stack.token_path.read_text().strip())
    return browser


def test_a_token_is_traded_for_a_session_that_all_tabs_have(browser: Browser, stack: Stack) -> None:
    browser.open("/")
    browser.find("#token").send_keys("höchst geheim\n")
    browser.until(lambda: "ASCII" in browser.text("[role=alert]"))
    field = browser.find("#token")
    field.clear()
    field.send_keys("x" * 40 + "\n")
    # The form takes no other token before it has the answer to this one.
    browser.until(lambda: "ASCII" not in browser.text("[role=alert]"))
    field.clear()
    field.send_keys(stack.token_path.read_text().strip() + "\n")
    browser.until(lambda: browser.text("h1") == "Jobs")
    browser.driver.switch_to.new_window("tab")
    browser.open("/#/submit")  # as older versions wrote it
    browser.until(lambda: browser.text("h1") == "New job")
    assert browser.driver.current_url.endswith("/new")
    browser.driver.execute_script("document.querySelector('[aria-label=Account]').click()")
    browser.press("Sign out")
    browser.find("#token")
    assert browser.complaints() == []


def test_a_link_with_a_code_signs_in(browser: Browser, client: Connection) -> None:
    browser.driver.delete_all_cookies()
    code = client.create_sign_in_code()
    browser.open(f"/login?to=/new#code={code}")
    browser.until(lambda: browser.text("h1") == "New job")
    assert code not in browser.driver.current_url
    browser.driver.delete_all_cookies()
    browser.open("/")
    browser.find("#token")
    browser.open(f"/login?to=/new#code={code}")  # again
    browser.until(lambda: "ipulse open" in browser.text(".note"))


def test_a_wrong_spec_is_refused_with_its_places(signed_in: Browser) -> None:
    signed_in.open("/new")
    signed_in.write_spec('{"version": 1,')
    signed_in.until(lambda: "line 1" in signed_in.text(".plan"))
    signed_in.write_spec({**small_spec(), "network": {"layers": [{"neurons": -4}]}, "colour": 3})
    signed_in.until(lambda: "-4 is below the minimum of 1" in signed_in.text(".plan"))
    assert "2 problems" in signed_in.text(".plan-title")
    assert not signed_in.find("[type=submit]").is_enabled()
    narrow = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    signed_in.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    signed_in.until(lambda: signed_in.find("html").size["width"] == 380)
    assert signed_in.find("html").get_property("scrollWidth") == 380
    signed_in.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert signed_in.complaints() == []


def test_from_a_spec_to_its_report(signed_in: Browser, client: Connection) -> None:
    name = "<b>seen</b> & submitted"
    signed_in.open("/new")
    signed_in.write_spec({**small_spec(epochs=1), "name": name})
    signed_in.press("Submit")
    signed_in.until(lambda: "/jobs/job_" in signed_in.driver.current_url)
    job_id = signed_in.driver.current_url.rpartition("/")[2]
    signed_in.until(lambda: signed_in.text("h1") == name)  # the address is the first to change
    signed_in.find(".chip.succeeded")
    signed_in.until(lambda: len(signed_in.all(".phases .done")) == 5)
    titles = ["Accuracy (%)", "Loss"]
    signed_in.until(lambda: [title.text for title in signed_in.all("figure h3")] == titles)
    # The held-out accuracy of a single epoch is a point, and no line.
    signed_in.until(lambda: signed_in.driver.execute_script(PIXELS, "--s1") > 0)
    accuracy = client.job(job_id).json["summary"]["test_accuracy"]
    signed_in.until(lambda: f"{100 * accuracy:.1f} %" in signed_in.text(".figures"))
    for tab, place in TABS.items():
        signed_in.press(tab)
        signed_in.find(place)
        assert signed_in.driver.current_url.endswith(f"/{tab.lower()}")
    signed_in.press("Log")
    signed_in.until(lambda: "attempt 1: report" in signed_in.text(".log"))
    signed_in.press("Report")
    frame = signed_in.find("iframe")
    signed_in.driver.switch_to.frame(frame)
    signed_in.until(lambda: signed_in.text("h1") == name)
    signed_in.find(".live canvas")  # its script makes the curves interactive
    signed_in.driver.switch_to.default_content()
    signed_in.press("Jobs")
    signed_in.until(lambda: name in signed_in.text("tbody"))
    assert signed_in.complaints() == []


def test_a_token_that_is_revoked_costs_nothing_that_was_written(
    browser: Browser, client: Connection, stack: Stack
) -> None:
    token = client.create_token("tab", "user", 3600)
    browser.driver.delete_all_cookies()
    browser.open("/login")
    browser.keep_token(token.secret)
    browser.open("/new")
    browser.write_spec('{"mine": 1}')
    browser.until(
        lambda: "/mine" in browser.text(".plan") or "no such field" in browser.text(".plan")
    )
    client.revoke_token(token.id)
    browser.write_spec('{"mine": 2}')
    browser.find("dialog #token").send_keys(stack.token_path.read_text().strip() + "\n")
    browser.until(lambda: not browser.all("dialog"))
    assert browser.spec() == '{"mine": 2}'
    browser.until(lambda: "no such field" in browser.text(".plan"))  # the check was repeated
    assert browser.complaints() == []


def test_a_job_is_cancelled_and_deleted(signed_in: Browser, client: Connection) -> None:
    job = client.submit({**small_spec(), "training": {"epochs": 10_000}})
    signed_in.open("/")
    signed_in.until(lambda: signed_in.text("h1") == "Jobs")
    signed_in.driver.execute_script(HURRIED)
    link = signed_in.find(f"a[href='/jobs/{job.id}']")
    row = f"tr:has(a[href='/jobs/{job.id}'])"
    signed_in.until(lambda: signed_in.text(f"{row} .chip") != "queued")
    assert link.is_displayed()  # it was not replaced when the list was drawn again
    signed_in.open(f"/jobs/{job.id}")
    signed_in.find(".chip")
    signed_in.connect(False)
    signed_in.until(lambda: "does not answer" in signed_in.text("main"))
    signed_in.connect(True)
    signed_in.until(lambda: "does not answer" not in signed_in.text("main"))
    signed_in.hold("Pause")
    client.job(job.id).pause()
    signed_in.until(lambda: signed_in.text(".chip") == "paused")
    ActionChains(signed_in.driver).release().perform()
    signed_in.choose("Cancel")
    signed_in.press("Cancel the job")
    signed_in.find(".chip.cancelled")
    signed_in.choose("Delete")
    signed_in.until(lambda: signed_in.find("dialog .danger")).click()
    signed_in.until(lambda: signed_in.text("h1") == "Jobs")
    signed_in.until(lambda: job.id not in {listed.id for listed in client.jobs()})
    assert signed_in.complaints() == []
