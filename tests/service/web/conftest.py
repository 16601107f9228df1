"""A page in a real browser, signed in, on a service inside the test's process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.network_log import hosts_asked
from tests.service.chromium import started_browser
from tests.service.conditions import eventually
from tests.service.running import InProcess

T = TypeVar("T")


class Page:
    """The page in a browser, with waits for what it shows."""

    def __init__(self, driver: webdriver.Chrome, service: InProcess) -> None:
        self.driver = driver
        self.service = service

    def open(self, path: str) -> None:
        self.driver.get(self.service.url + path)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def find(self, selector: str) -> WebElement:
        found: list[WebElement] = self.until(lambda: self.all(selector))
        return found[0]

    def until(self, look: Callable[[], T]) -> T:
        """Wait for something true; an element may be replaced while it is read."""

        def ready() -> T | None:
            try:
                return look()
            except WebDriverException:
                return None

        found: T = eventually(ready)
        return found

    def texts(self, selector: str) -> list[str]:
        script = (
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText.trim())"
        )
        texts: list[str] = self.driver.execute_script(script, selector)
        return texts

    def press(self, words: str) -> None:
        """Click the button or link with these words."""

        def click() -> bool:
            path = f"//*[self::button[not(@disabled)] or self::a][normalize-space()='{words}']"
            self.click(self.driver.find_element(By.XPATH, path))
            return True

        self.until(click)

    def click(self, element: WebElement) -> None:
        """Scroll to an element, from behind what stays in view, and click it."""
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def type(self, text: str) -> None:
        """Type to whatever has the focus."""
        webdriver.ActionChains(self.driver).send_keys(text).perform()

    def address(self) -> str:
        return str(self.driver.current_url).removeprefix(self.service.url)

    def resize(self, width: int, height: int = 800) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def scheme(self, name: str) -> None:
        """Prefer a light or a dark page."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def sign_in(self, client: httpx.Client) -> None:
        """Give the browser a session with the token of a client."""
        self.driver.delete_all_cookies()
        for cookie in client.post("/v1/sessions").cookies.jar:
            made = {"name": cookie.name, "value": cookie.value or "", "path": "/"}
            self.driver.add_cookie(made)

    def complaints(self) -> list[str]:
        """Return the console's messages, except for responses that the page shows to its user."""
        entries: list[dict[str, Any]] = self.driver.get_log("browser")
        return [e["message"] for e in entries if "Failed to load resource" not in e["message"]]


@pytest.fixture
def page(driver: webdriver.Chrome, service: InProcess) -> Iterator[Page]:
    """The page on a screen of 1280 pixels, light, without what an earlier test has selected."""
    driver.get(f"{service.url}/web/icon.svg")
    driver.execute_script("localStorage.clear(); sessionStorage.clear()")
    driver.execute_script("localStorage.setItem('ipulse-page', 'here')")
    made = Page(driver, service)
    with service.client(service.settings.token_file) as browser:
        made.sign_in(browser)
    made.resize(1280)
    made.scheme("light")
    made.complaints()
    hosts_asked(driver)
    yield made
    assert made.complaints() == []
    # Not what the policy refuses, which is a complaint: these would have been sent.
    assert set(hosts_asked(driver)) <= {urlsplit(service.url).netloc}


@pytest.fixture
def other_page(service: InProcess) -> Iterator[Page]:
    """The page in a browser of its own: another profile with nothing stored, signed in."""
    with started_browser() as other:
        other.get(f"{service.url}/web/icon.svg")
        made = Page(other, service)
        with service.client(service.settings.token_file) as browser:
            made.sign_in(browser)
        made.resize(1280)
        yield made
        assert made.complaints() == []


ENTER, ESCAPE, DOWN = Keys.ENTER, Keys.ESCAPE, Keys.ARROW_DOWN
