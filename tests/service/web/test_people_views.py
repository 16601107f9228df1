"""Views of projects, people and sessions, and the page that confirms a program."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.by import By
from sqlalchemy import insert

from ipulse_service.db import tables
from tests.service.http.routes.test_queue import announce
from tests.service.people import checked
from tests.service.running import InProcess

from .conftest import ENTER, Page

HOUR = 3_600_000  # ms
TOTALS = ["5.00", "1.00", "0.00", "4"]


def test_a_project_gets_a_person_with_a_role(page: Page, service: InProcess) -> None:
    page.open("/settings/people")
    page.press("New person")
    page.find("dialog input[name=name]").send_keys("alice")
    page.press("Add")
    page.until(lambda: any("alice" in text for text in page.texts("tbody th")))
    page.open("/settings/projects")
    page.press("New project")
    page.find("dialog input[name=name]").send_keys("vision")
    page.press("Create")
    page.press("vision")
    page.press("Set a role")
    page.find("dialog input[name=user]").send_keys("alice")
    page.find("dialog input[value=developer]").click()
    page.press("Save")
    page.until(lambda: "developer" in page.texts("tbody td"))
    assert checked(service.user.get("/v1/users/alice"))["roles"] == {"vision": "developer"}
    page.driver.find_element(By.CSS_SELECTOR, "[aria-label='Remove owner']").click()
    page.find("dialog .danger").click()
    page.until(lambda: any("owner" in text for text in page.texts(".toast")))
    page.open("/settings/people")
    page.until(lambda: any("developer" in text for text in page.texts("tbody td")))
    page.driver.find_element(By.CSS_SELECTOR, "[aria-label='Disable alice']").click()
    page.find("dialog .danger").click()
    page.until(lambda: any("disabled" in text for text in page.texts("tbody td")))
    assert checked(service.user.get("/v1/users/alice"))["is_disabled"] is True


def test_used_time_is_added_up(page: Page, service: InProcess) -> None:
    names = ("project", "owner", "device", "month", "outcome", "device_ms", "attempts")
    used = [
        ("default", "alice", "ipu", "2026-10", "succeeded", 4 * HOUR, 3),
        ("default", "alice", "ipu", "2026-11", "failed", HOUR, 1),
    ]
    with service.database.write() as transaction:
        rows = [dict(zip(names, each, strict=True)) for each in used]
        transaction.connection.execute(insert(tables.usage), rows)
    page.open("/settings/usage")
    page.until(lambda: [text.split()[0] for text in page.texts("tfoot .number")] == TOTALS)
    cells = page.all("tbody tr:first-child td")
    heads = page.texts("thead th")
    assert [cell.get_attribute("data-label") for cell in cells] == heads[1:]  # shown on a phone
    page.find("fieldset label:last-of-type input").click()
    page.until(lambda: len(page.texts("tbody tr")) == 1)
    assert page.texts("tbody .number") == ["5.00", "1.00", "0", "4"]


def test_a_pool_is_made_and_reserved(page: Page, service: InProcess) -> None:
    announce(service, "pod-1", "cpu")
    page.open("/devices")
    page.press("New pool")
    page.find("dialog input[name=name]").send_keys("lab")
    page.find("dialog input[name=agents]").send_keys("pod-*")
    page.find("dialog input[value=share]").click()
    page.press("Save")
    page.until(lambda: any(text.startswith("lab") for text in page.texts("tbody th")))
    page.find("[aria-label='Reserve agents of the pool lab']").click()
    page.find("dialog input[name=project]").send_keys("default")
    page.find("dialog .primary").click()
    page.until(lambda: len(page.texts("[aria-label=Reservations] tbody tr")) == 1)
    [pool] = [each for each in service.user.get("/v1/pools").json()["pools"] if each["agents"]]
    assert (pool["members"], pool["preemption"]) == (["pod-1"], "share")
    page.find("[aria-label='End the reservation of default']").click()
    page.until(lambda: not service.user.get("/v1/reservations").json()["reservations"])


def test_a_program_is_confirmed(page: Page, service: InProcess) -> None:
    with service.client() as program:
        begun = checked(program.post("/v1/auth/device", json={"client_id": "laptop"}))
        page.open("/device")
        page.find("input[name=code]").send_keys(begun["user_code"].lower() + ENTER)
        page.until(lambda: any("laptop" in text for text in page.texts("strong")))
        page.press("Confirm")
        page.until(lambda: any("signed in" in text for text in page.texts("[role=status]")))
        grant = "urn:ietf:params:oauth:grant-type:device_code"
        body = {"grant_type": grant, "device_code": begun["device_code"]}
        token = checked(program.post("/v1/auth/device/token", json=body))
    assert token["user"] == "owner"


@pytest.mark.usefixtures("page")
def test_sessions_are_listed_and_all_of_them_end(page: Page, service: InProcess) -> None:
    page.open("/settings/sessions")
    page.until(lambda: any("this browser" in text for text in page.texts("tbody th")))
    page.press("End all sessions")
    page.find("dialog .danger").click()
    page.until(lambda: page.address() == "/login")
    assert checked(service.user.get("/v1/sessions"))["sessions"] == []
