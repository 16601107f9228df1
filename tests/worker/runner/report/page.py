"""A report as a browser reads it."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import pytest

VOID = {"meta", "br", "hr", "img", "link", "input"}
LOADS = {"src", "href", "srcset", "action", "data", "poster", "xlink:href"}
Attributes = List[Tuple[str, Optional[str]]]


class Page(HTMLParser):
    """A strict parser: records elements that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: List[str] = []
        self.tags: Set[str] = set()
        self.loads: List[str] = []
        self.text: Dict[str, List[str]] = {}
        self.problems: List[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        self.tags.add(tag)
        self.loads += [value or "" for name, value in attrs if name in LOADS]
        self.problems += [f"{tag} has {name}" for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()} has no start tag")

    def handle_data(self, data: str) -> None:
        if self.open:
            self.text.setdefault(self.open[-1], []).append(data)


@contextmanager
def report_in_a_browser(report: Path, width: int, scripts: bool = True) -> Iterator[Any]:
    """Yield a browser that shows the report on a screen of this width, with or without scripts."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, program = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not program:
        pytest.skip("no browser here: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(program))
    try:
        screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        off = {"value": not scripts}
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", off)
        driver.get(report.as_uri())
        yield driver
    finally:
        driver.quit()
