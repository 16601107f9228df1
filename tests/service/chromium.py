"""Chromium without a screen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from selenium import webdriver

from tests.network_log import LOGS, policy_violations

FLAGS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")


@contextmanager
def started_browser() -> Iterator[webdriver.Chrome]:
    """A browser with a profile of its own; the test is skipped where there is none."""
    chromium, program = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not program:
        pytest.skip("no browser here: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", LOGS)
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(program))
    try:
        yield started
        assert policy_violations(started) == []
    finally:
        started.quit()
