"""The page offers what a person may do, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.service.http.routes.test_queue import announce
from tests.service.http.test_rights import SWEEP
from tests.service.people import checked, person, submitted
from tests.service.running import SPEC, InProcess

from .conftest import Page
from .test_accessibility import violations

pytestmark = pytest.mark.browser

CHANGES = {"Pause", "Cancel", "Edit tags"}
# Whether they change what ada owns, and whether they submit.
EACH = {"ada": (True, True), "bob": (False, True), "vic": (False, False), "max": (True, True)}
WORDS = """
    return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent.trim());
"""


@pytest.fixture(scope="module")
def people(service: InProcess) -> Iterator[dict[str, httpx.Client]]:
    with ExitStack() as stack:
        checked(service.user.post("/v1/projects", json={"name": "vision"}))
        yield {
            "ada": person(service, stack, "ada", default="member"),
            "bob": person(service, stack, "bob", default="member", vision="member"),
            "vic": person(service, stack, "vic", default="viewer"),
            "max": person(service, stack, "max", default="maintainer"),
            "zoe": person(service, stack, "zoe", vision="member"),
        }


def words(page: Page, selector: str) -> set[str]:
    """The words of buttons and links, also of those in closed menus."""
    return set(page.driver.execute_script(WORDS, selector))


def show(page: Page, client: httpx.Client, path: str, title: str) -> None:
    page.sign_in(client)
    page.open(path)
    page.until(lambda: title in page.texts("h1"))


@pytest.mark.parametrize("name", EACH)
def test_a_job(page: Page, people: dict[str, httpx.Client], name: str) -> None:
    changes, submits = EACH[name]
    job = submitted(people["ada"], name="of ada")
    checked(people["ada"].patch(f"/v1/jobs/{job['id']}", json={"notes": "by hand"}))
    show(page, people[name], f"/jobs/{job['id']}", "of ada")
    offered = words(page, ".job-head .buttons button, .job-head .buttons a")
    assert offered & CHANGES == (CHANGES if changes else set())
    assert ("Clone" in offered) is submits
    page.until(lambda: bool(page.all("nav.pages a.new")) is submits)
    page.until(lambda: page.all(".notes"))
    assert bool(page.all(".notes textarea")) is changes
    assert violations(page) == []


@pytest.mark.parametrize("name", EACH)
def test_selected_jobs(page: Page, people: dict[str, httpx.Client], name: str) -> None:
    changes, _ = EACH[name]
    submitted(people["ada"], name=f"select {name}")
    show(page, people[name], f"/jobs?q=name:%22select+{name}%22", "Jobs")
    page.find("tbody input[type=checkbox]").click()
    page.until(lambda: "Compare" in words(page, ".action-bar a"))
    offered = words(page, ".action-bar button")
    assert {"Tag", "Pause", "Cancel", "Delete"} & offered == (
        {"Tag", "Pause", "Cancel", "Delete"} if changes else set()
    )


@pytest.mark.parametrize("name", EACH)
def test_a_sweep(page: Page, people: dict[str, httpx.Client], name: str) -> None:
    changes, submits = EACH[name]
    config = {**SWEEP, "sweep": f"for {name}", "spec": SPEC}
    sweep = checked(people["ada"].post("/v1/sweeps", json=config))
    show(page, people[name], f"/sweeps/{sweep['id']}", f"for {name}")
    offered = words(page, ".head .buttons button")
    assert ({"Pause", "Extend"} <= offered) is changes
    page.open("/sweeps")
    page.until(lambda: page.all("tbody tr"))
    assert ("New sweep" in words(page, ".head .buttons a")) is submits


def test_who_only_reads_is_not_asked_to_add_anything(
    page: Page, people: dict[str, httpx.Client]
) -> None:
    show(page, people["vic"], "/datasets", "Data sets")
    assert not page.all(".drop")
    show(page, people["bob"], "/datasets", "Data sets")
    assert page.all(".drop")


def test_what_is_added_goes_to_the_chosen_project(
    page: Page, service: InProcess, people: dict[str, httpx.Client]
) -> None:
    show(page, people["bob"], "/new", "New job")
    choice = page.find("select[name=project]")
    assert [option.text for option in Select(choice).options] == ["default", "vision"]
    Select(choice).select_by_visible_text("vision")
    page.until(lambda: page.texts(".plan-title [role=status]") == ["Ready to submit"])
    page.press("Submit")
    page.until(lambda: page.address().startswith("/jobs/job_"))
    job = checked(people["bob"].get("/v1" + page.address()))
    assert (job["project"], job["owner"]) == ("vision", "bob")
    # It is remembered; who has one project is not asked.
    show(page, people["bob"], "/new", "New job")
    assert page.find("select[name=project]").get_property("value") == "vision"
    show(page, people["zoe"], "/new", "New job")
    page.until(lambda: page.texts(".plan-title [role=status]") == ["Ready to submit"])
    assert not page.all("select[name=project]")


def test_devices_that_a_hidden_job_holds(
    page: Page, service: InProcess, people: dict[str, httpx.Client]
) -> None:
    announce(service, "agent-1", "cpu")
    job = submitted(people["zoe"], name="hidden")
    attempt = service.attempt(job["id"])
    show(page, people["vic"], "/devices", "Devices")
    page.until(lambda: any("another project" in text for text in page.texts(".agent li")))
    assert not page.all(".agent button")
    with service.client(service.settings.token_file) as admin:
        show(page, admin, "/devices", "Devices")
    page.until(lambda: page.all(".agent .menu-button"))
    attempt.complete()


def test_a_member_makes_tokens_of_its_own(
    page: Page, service: InProcess, people: dict[str, httpx.Client]
) -> None:
    show(page, people["ada"], "/settings/tokens", "Tokens")
    page.press("New token")
    page.find("dialog input[name=name]").send_keys("laptop")
    assert not page.all("dialog input[name=holder]")
    page.press("Create")
    secret = page.until(lambda: page.texts("code.secret"))[0]
    headers = {"authorization": f"Bearer {secret}"}
    with service.client() as client:
        me = checked(client.get("/v1/me", headers=headers))
    assert (me["name"], me["scopes"]) == ("ada", ["read", "submit"])
    page.press("Done")
    page.until(lambda: any("laptop" in text for text in page.texts("tbody th")))
    page.driver.find_element(By.CSS_SELECTOR, "[aria-label='Revoke laptop']").click()
    page.find("dialog .danger").click()
    page.until(lambda: not any("laptop" in text for text in page.texts("tbody th")))
