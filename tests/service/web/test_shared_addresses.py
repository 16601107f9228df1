"""An address of the page shows the same in every browser."""

from __future__ import annotations

from functools import partial

import pytest

from tests.service.running import SPEC, InProcess

from .conftest import Page

pytestmark = pytest.mark.browser


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
