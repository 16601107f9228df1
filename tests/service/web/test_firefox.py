"""Every view of the page shows in Firefox, without an error and in its width."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ipulse.stack.redis_server import RedisServer
from tests.service.firefox import Firefox, started_firefox
from tests.service.http.routes.test_neuron_packages import PACKAGE
from tests.service.running import InProcess, settings_for

from .conftest import ENTER, Page
from .test_accessibility import OVERFLOW, STATES
from .whole_page import COUNTED, fill, shown, views

pytestmark = [pytest.mark.browser, pytest.mark.verify]


@pytest.fixture
def service(redis_server: RedisServer, tmp_path: Path) -> Iterator[InProcess]:
    """A service whose owner signed off a package of neurons."""
    settings = settings_for(tmp_path, redis_server.url, neuron_packages=[PACKAGE])
    with InProcess(settings) as running:
        yield running


@pytest.fixture
def firefox(service: InProcess) -> Iterator[Firefox]:
    """Firefox with a session of the owner."""
    with started_firefox() as browser, service.client(service.settings.token_file) as client:
        for cookie in client.post("/v1/sessions").cookies.jar:
            host = str(urlsplit(service.url).hostname)
            browser.add_cookie({"name": cookie.name, "value": cookie.value or ""}, host)
        browser.before_each_page(f"() => {COUNTED}")
        yield browser


def test_every_view_shows(service: InProcess, firefox: Firefox) -> None:
    driver: Any = firefox
    page = Page(driver, service)
    values = fill(service)
    found: dict[str, object] = {}
    for path in views(page, values):
        if problems := [*firefox.complaints(), *page.texts(".problem")]:
            found[path] = problems
        if wider := firefox.execute_script(OVERFLOW):
            found[f"width of {path}"] = wider
    for state in STATES:
        shown(page, state.format_map(values))
        if problems := firefox.complaints():
            found[state] = problems
    assert not found, json.dumps(found, indent=1)
    shown(page, "/jobs")
    firefox.press_keys("/")
    firefox.press_keys("name:whole" + ENTER)
    page.until(lambda: page.texts("tbody a.name") == ["whole"])
    firefox.execute_script("document.querySelector('tbody a.name').focus()")
    firefox.press_keys(ENTER)
    page.until(lambda: page.texts("h1") == ["whole"])
    shown(page, f"/jobs/{values['jobs']}/metrics")
    page.find("ip-curve canvas")
    shown(page, "/new")
    page.until(lambda: page.texts(".plan-title [role=status]") == ["Ready to submit"])
    assert firefox.complaints() == []
