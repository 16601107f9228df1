"""Chromium without a screen, driven through WebDriver."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from selenium import webdriver
from selenium.common.exceptions import (
    ElementNotInteractableException,
    NoAlertPresentException,
    NoSuchElementException,
    StaleElementReferenceException,
)
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.network_log import LOGS, hosts_asked, policy_violations

from .jobs import PATIENCE

PASSING = [
    ElementNotInteractableException,  # not shown yet
    NoAlertPresentException,
    NoSuchElementException,
    StaleElementReferenceException,
]
# How many pixels the page is wider than its window.
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1500")


class Browser:
    """Chromium, with waits for elements."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self.driver = driver
        self.url = url

    def open(self, path: str) -> None:
        self.driver.get(self.url + path)

    def find(self, selector: str) -> WebElement:
        return self.until(lambda: self.driver.find_element(By.CSS_SELECTOR, selector))

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def press(self, words: str) -> None:
        def press() -> bool:
            self._by_text(words).click()
            return True

        self.until(press)

    def hold(self, words: str) -> None:
        """Press without releasing."""

        def hold() -> bool:
            ActionChains(self.driver).click_and_hold(self._by_text(words)).perform()
            return True

        self.until(hold)

    def _by_text(self, words: str) -> WebElement:
        path = f"//*[self::button or self::a][normalize-space()='{words}']"
        return self.driver.find_element(By.XPATH, path)

    def until(self, look: Callable[[], Any]) -> Any:
        # An element may not exist yet, or be replaced before it is read.
        wait = WebDriverWait(self.driver, PATIENCE, 0.05, PASSING)
        return wait.until(lambda _: look())

    def text(self, selector: str) -> str:
        text: str = self.until(lambda: [self.driver.find_element(By.CSS_SELECTOR, selector).text])[
            0
        ]
        return text

    def write_spec(self, spec: object) -> None:
        """Replace the text of the editor, as by a paste."""
        text = spec if isinstance(spec, str) else json.dumps(spec)
        change = """
            const { editor } = document.querySelector("ip-editor");
            const whole = { from: 0, to: editor.state.doc.length, insert: arguments[0] };
            editor.dispatch({ changes: whole });
        """
        self.until(lambda: self.spec())
        self.driver.execute_script(change, text)

    def spec(self) -> str:
        """Return the text of the editor, empty before there is one."""
        script = "return document.querySelector('ip-editor')?.editor?.state.doc.toString() ?? ''"
        text: str = self.driver.execute_script(script)
        return text

    def choose(self, words: str) -> None:
        """Press an entry of the menu of more actions."""
        self.find("[aria-label='More actions']").click()
        self.press(words)

    def keep_token(self, token: str) -> None:
        """Trade the token for a session, as the page does when somebody signs in."""
        script = """
            const [token, done] = arguments;
            const headers = { authorization: `Bearer ${token}` };
            fetch("/v1/sessions", { method: "POST", headers })
              .then((answer) => done(answer.status));
        """
        assert self.driver.execute_async_script(script, token) == 201

    def connect(self, is_there: bool) -> None:
        """Let the page reach the service, or not."""
        self.driver.execute_cdp_cmd("Network.enable", {})
        line = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        conditions = {"offline": not is_there, **line}
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)

    def complaints(self) -> list[str]:
        """Return the messages of the browser console, except for responses shown to the user."""
        entries: list[dict[str, Any]] = self.driver.get_log("browser")
        return [e["message"] for e in entries if "Failed to load resource" not in e["message"]]


@contextmanager
def open_browser(url: str) -> Iterator[Browser]:
    """Start a browser for the page at this address; skip the test where there is none."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no browser here: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", LOGS)
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield Browser(started, url)
        others = set(hosts_asked(started)) - {urlsplit(url).netloc}
        # The page on loopback has a name of its own.
        own = re.compile(rf"ipulse-[0-9a-f]{{16}}\.localhost:{urlsplit(url).port}")
        assert not [host for host in others if not own.fullmatch(host)], "a request left the origin"
        assert policy_violations(started) == []
    finally:
        started.quit()
