"""The frame of the page: the view that is shown is the one that the address names."""

from __future__ import annotations

from functools import partial

import pytest
from selenium import webdriver

from tests.network_log import hosts_asked
from tests.service.conditions import eventually
from tests.service.running import SPEC, InProcess

from .conftest import Page

pytestmark = pytest.mark.browser

# Navigates to /devices, where the module loads late, and at once to /sweeps; returns the view that
# is shown after both modules have loaded.
RACE = """
    const done = arguments[0];
    const main = [...document.scripts].find(({ src }) => src.endsWith("app/main.js")).src;
    const load = (name) => import(main.replace("app/main.js", `app/${name}.js`));
    Promise.all([load("routes"), load("router")]).then(async ([{ routes }, { navigate }]) => {
      const late = routes.find(({ tag }) => tag === "ip-devices");
      const soon = routes.find(({ tag }) => tag === "ip-sweeps");
      const original = late.load;
      let release;
      late.load = () => new Promise((resolve) => { release = resolve; }).then(original);
      navigate("/devices");
      navigate("/sweeps");
      await soon.load();
      release();
      await original();
      late.load = original;
      const shell = document.querySelector("ip-shell");
      requestAnimationFrame(() => setTimeout(async () => {
        await shell.updateComplete;
        done(document.querySelector("main").firstElementChild.localName);
      }));
    });
"""


def test_a_view_that_loads_late_does_not_replace_a_later_one(page: Page) -> None:
    page.open("/jobs")
    page.find("h1, .empty")
    assert page.driver.execute_async_script(RACE) == "ip-sweeps"
    assert page.address() == "/sweeps"


def test_a_request_to_another_origin_would_be_found(driver: webdriver.Chrome) -> None:
    """The counterpart of what every test of the page ends with."""
    driver.get("about:blank")
    hosts_asked(driver)
    driver.execute_script("fetch('http://127.0.0.1:9/a').catch(() => {})")
    eventually(lambda: hosts_asked(driver) == {"127.0.0.1:9": 1})


def is_there(page: Page, place: str, shown: list[str]) -> bool:
    return page.texts(place)[: len(shown)] == shown


def test_another_browser_opens_an_address_equally(
    page: Page, service: InProcess, other_page: Page
) -> None:
    """Query, columns, order, groups and page are in the address, and nowhere else."""
    for seed in range(1, 7):
        service.submit({**SPEC, "name": "shared", "seed": seed})
    rows = "/jobs?q=name:shared+seed%3E1&columns=state,seed,learning_rate&sort=-seed"
    groups = "/jobs?q=name:shared&group=seed"
    for address, place, shown in ((rows, "td.c-seed", list("65432")), (groups, "tbody td", ["6"])):
        tables = []
        for one in (page, other_page):
            one.open(address)
            one.until(partial(is_there, one, place, shown))
            table = one.texts("thead th, tbody th, tbody td:not(.c-created)")
            query = one.find("ip-search input").get_property("value")
            tables.append((one.address(), query, table))
        assert tables[0] == tables[1]
