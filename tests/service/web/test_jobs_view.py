"""The list of jobs: search, columns, sorting, selection, updates."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver import ActionChains

from ipulse_service.jobs.search.terms import quoted
from tests.service.agents import METRIC
from tests.service.http.routes.test_quoted_labels import ODD
from tests.service.running import SPEC, InProcess

from .conftest import ENTER, Page

pytestmark = pytest.mark.browser
NAMES = "tbody a.name"


def submit(service: InProcess, name: str, **more: Any) -> str:
    job_id: str = service.submit({**SPEC, "name": name, **more})["id"]
    return job_id


def total(service: InProcess, q: str) -> int:
    count: int = service.user.get("/v1/jobs", params={"q": q, "count": "true"}).json()["total"]
    return count


def search(page: Page, text: str) -> None:
    field = page.find("ip-search input")
    field.clear()
    field.send_keys(text)


def test_nothing_is_explained_and_leads_to_a_new_job(page: Page) -> None:
    page.open("/jobs?q=name:nothing-of-this-name")
    page.until(lambda: page.texts(".empty"))
    assert page.texts(NAMES) == []
    page.press("Clear the search")
    page.until(lambda: page.address() == "/jobs")


def test_a_search_is_in_the_address_and_its_error_is_underlined(
    page: Page, service: InProcess
) -> None:
    for name in ("apple", "banana"):
        submit(service, f"fruit {name}", seed=len(name))
    page.open("/jobs")
    search(page, "name:*banana*" + ENTER)

    page.until(lambda: page.texts(NAMES) == ["fruit banana"])
    assert page.address() == "/jobs?q=name:*banana*"
    search(page, "name:*banana* seed>" + ENTER)
    page.until(lambda: page.texts(".underline mark"))
    assert page.find("ip-search input").get_attribute("aria-invalid") == "true"
    assert page.texts(NAMES) == ["fruit banana"], "the last result stays"
    assert page.texts(".search-error") != [""]
    page.open("/jobs?q=fruit+seed:5")  # a shared link
    page.until(lambda: page.texts(NAMES) == ["fruit apple"])


def test_the_service_suggests_what_may_follow(page: Page, service: InProcess) -> None:
    submit(service, "suggested")
    page.open("/jobs")
    search(page, "stat")
    page.until(lambda: any("state" in text for text in page.texts("#suggestions li")))
    page.find("#suggestions li").click()
    page.until(lambda: any("queued" in text for text in page.texts("#suggestions li")))
    assert page.find("ip-search input").get_property("value") == "state:"


def test_columns_of_settings_sort_and_stay(page: Page, service: InProcess) -> None:
    for seed in (3, 1, 2):
        submit(service, "sorted", seed=seed)
    page.open("/jobs?q=name:sorted&columns=state,seed")
    values = "td.c-seed"
    page.until(lambda: page.texts(values) == ["2", "1", "3"])  # the newest first
    page.press("Seed")
    page.until(lambda: page.texts(values) == ["3", "2", "1"])
    page.press("Seed")
    page.until(lambda: page.texts(values) == ["1", "2", "3"])
    assert "sort=seed" in page.address()
    page.driver.refresh()
    page.until(lambda: page.texts(values) == ["1", "2", "3"])


def test_the_keyboard_selects_and_compares(page: Page, service: InProcess) -> None:
    ids = [submit(service, "by keyboard") for _ in range(3)]
    page.open("/jobs?q=name:%22by+keyboard%22")
    page.until(lambda: len(page.texts(NAMES)) == 3)
    page.driver.execute_script("document.activeElement.blur()")
    page.type("jxjx")
    page.until(lambda: page.texts(".action-bar strong") == ["2 selected"])
    page.driver.refresh()
    page.until(lambda: page.texts(".action-bar strong") == ["2 selected"])
    page.driver.execute_script("document.activeElement.blur()")
    page.type("c")
    page.until(lambda: page.address().startswith("/compare?jobs="))
    for job_id in ids[1:]:
        assert job_id.removeprefix("job_") in page.address()


def test_selected_jobs_are_tagged_and_deleted(page: Page, service: InProcess) -> None:
    ids = [submit(service, "tagged") for _ in range(2)]
    page.open("/jobs?q=name:tagged")
    page.until(lambda: len(page.texts(NAMES)) == 2)
    page.find("thead input[type=checkbox]").click()
    page.press("Tag")
    page.find("dialog input").send_keys("good" + ENTER)
    page.until(lambda: page.texts("tbody th .tag") == ["good", "good"])
    for job_id in ids:
        service.user.post(f"/v1/jobs/{job_id}/cancel")
    page.find("[aria-label='More actions']").click()
    page.press("Delete")
    page.until(lambda: any("tagged" in text for text in page.texts("dialog")))
    page.find("dialog button.danger").click()
    page.until(
        lambda: page.texts("ip-jobs h2") == ["No job matches"] and not page.all(".action-bar")
    )
    page.press("Undo")
    page.until(lambda: len(page.texts(NAMES)) == 2)
    page.find("thead input[type=checkbox]").click()
    page.find("[aria-label='More actions']").click()
    page.press("Delete")
    page.find("dialog button.danger").click()
    page.until(lambda: page.texts("ip-jobs h2") == ["No job matches"])
    assert total(service, "name:tagged") == 2, "there is time to undo it"
    page.open("/devices")  # a page that is left has no more time
    page.until(lambda: total(service, "name:tagged") == 0)


def test_a_job_that_ends_after_the_question_is_not_deleted(page: Page, service: InProcess) -> None:
    jobs = 51  # more than a page shows
    over, *later = [submit(service, "ends later") for _ in range(jobs)]
    service.user.post(f"/v1/jobs/{over}/cancel")
    page.open("/jobs?q=name:%22ends+later%22")
    page.find("thead input[type=checkbox]").click()
    page.press(f"Select all {jobs}")
    page.find("[aria-label='More actions']").click()
    page.press("Delete")
    page.until(lambda: page.texts("dialog h2") == ["Delete 1 job?"])
    service.user.post(f"/v1/jobs/{later[0]}/cancel")
    page.find("dialog button.danger").click()
    page.until(lambda: bool(page.texts(".toast button")))
    page.open("/devices")
    page.until(lambda: service.user.get(f"/v1/jobs/{over}").status_code == 404)
    assert total(service, 'name:"ends later"') == jobs - 1


def test_all_jobs_of_a_search_change_with_one_request(page: Page, service: InProcess) -> None:
    jobs = 53  # more than a page shows
    for _ in range(jobs):
        submit(service, "in bulk")
    other = submit(service, "by itself")
    page.open("/jobs?q=name:%22in+bulk%22")
    page.find("thead input[type=checkbox]").click()
    page.press(f"Select all {jobs}")
    page.until(lambda: page.texts(".action-bar strong") == [f"{jobs} selected"])
    page.press("Tag")
    page.find("dialog input").send_keys("bulky" + ENTER)
    page.until(lambda: total(service, "tag:bulky") == jobs)
    page.find("[aria-label='More actions']").click()
    page.press("Cancel")
    page.until(lambda: page.texts("dialog h2") == [f"Cancel {jobs} jobs?"])
    assert any(f"{jobs} queued" in text for text in page.texts("dialog"))
    page.find("dialog button.danger").click()
    page.until(lambda: total(service, "tag:bulky state:cancelled") == jobs)
    assert service.user.get(f"/v1/jobs/{other}").json()["state"] == "queued"
    sent = """
        return performance.getEntriesByType("resource").map(({ name }) => name)
          .filter((name) => name.endsWith("/cancel"));
    """
    assert page.driver.execute_script(sent) == [], "no request for each job"


def test_one_job_less_than_a_whole_search_is_the_page(page: Page, service: InProcess) -> None:
    for _ in range(52):
        submit(service, "whole search")
    page.open("/jobs?q=name:%22whole+search%22")
    page.find("thead input[type=checkbox]").click()
    page.press("Select all 52")
    page.until(lambda: page.texts(".action-bar strong") == ["52 selected"])
    page.driver.refresh()
    page.until(lambda: page.texts(".action-bar strong") == ["52 selected"])
    page.find("tbody input[type=checkbox]").click()
    page.until(lambda: page.texts(".action-bar strong") == ["49 selected"])


def test_rows_stay_where_they_are_under_the_pointer(page: Page, service: InProcess) -> None:
    submit(service, "still one")
    page.open("/jobs?q=name:still*")
    page.until(lambda: page.texts(NAMES) == ["still one"])
    ActionChains(page.driver).move_to_element(page.find("td.c-state")).perform()
    second = submit(service, "still two")
    page.until(lambda: page.texts(".new-jobs") == ["1 new job"])
    assert page.texts(NAMES) == ["still one"]
    page.find(".new-jobs button").click()
    page.until(lambda: page.texts(NAMES) == ["still two", "still one"])
    assert second.removeprefix("job_")[:4] == page.texts("tbody .id")[0]


def test_rows_have_their_curve_and_their_place_in_the_queue(page: Page, service: InProcess) -> None:
    trained = submit(service, "rows trained")
    attempt = service.attempt(trained)
    epochs = 100
    of = {**METRIC, "scope": "epoch", "epochs": epochs, "steps": epochs}
    attempt.report(
        *(
            {**of, "epoch": n, "step": n, "values": {"test_accuracy": n / 200}}
            for n in range(1, 101)
        )
    )
    attempt.complete()
    submit(service, "rows queued", device={"kind": "ipu"})
    page.open("/jobs?q=name:rows*")
    label = page.find("svg.spark").get_attribute("aria-label") or ""
    assert label.endswith("to 50.0 %")
    points = page.find("svg.spark polyline").get_attribute("points") or ""
    assert 2 <= len(points.split()) < 50
    page.until(lambda: "agent" in page.texts("td.c-progress")[0])


def test_a_saved_view_brings_back_search_and_columns(page: Page, service: InProcess) -> None:
    for seed in (1, 2):
        submit(service, "viewed", seed=seed)
    address = "/jobs?q=name:viewed+seed:1&columns=seed&sort=-seed"
    page.open(address)
    page.press("Views")
    page.press("Save this view")
    page.find("dialog input").send_keys("only one" + ENTER)
    page.until(lambda: not page.all("dialog"))
    page.open("/jobs")
    page.press("Views")
    page.press("only one")
    page.until(lambda: page.texts("td.c-seed") == ["1"] and page.texts(NAMES) == ["viewed"])
    page.press("only one")  # the name of the present view
    page.press("Remove only one")
    page.until(lambda: not page.all("[popover]:popover-open"))
    page.press("Views")
    page.find("[popover]:popover-open")
    assert "only one" not in page.texts("[popover] .menu-item")


def test_a_name_does_not_reorder_what_is_around_it(page: Page, service: InProcess) -> None:
    submit(service, "run \u202e txt.exe \u200bend \\u202e", seed=77)
    page.open("/jobs?q=seed:77")
    page.until(lambda: page.texts(NAMES) == ["run \\u202e txt.exe \\u200bend \\u202e"])


# The page's functions that write and read texts of the search language.
QUOTE = """
const [texts, list, done] = arguments;
const { src } = document.querySelector("script[type=module]");
import(src.replace("app/main.js", "lib/query.js"))
    .then(({ names, quoted }) => done([texts.map(quoted), names(list)]))
    .catch((error) => done([`${error}`, null]));
"""


def test_the_page_quotes_as_the_service_does(page: Page) -> None:
    texts = [
        *ODD,
        "",
        " ",
        "a\n",
        "a\r\nb",
        "\t",
        "\u2028",
        "\u202e",
        "é",
        "e\u0301",
        "🧠",
        "ſ",
        "A-",
        "@",
    ]
    labels = [f"label.{quoted(text)}" for text in texts if text.strip()]
    page.open("/jobs")
    written, names = page.driver.execute_async_script(QUOTE, texts, ", ".join(labels))
    assert written == list(map(quoted, texts))
    assert names == labels


def test_a_label_with_a_comma_is_a_column_to_sort_by(page: Page, service: InProcess) -> None:
    for value in ("1", "2"):
        submit(service, f"comma {value}", metadata={"a,b": value})
    label = 'label."a,b"'
    page.open(f"/jobs?q=comma&columns={quote(f'{label},state')}")
    page.until(lambda: len(page.texts(NAMES)) == 2)
    heads = [head.get_attribute("title") for head in page.all("thead th[title]")]
    assert heads == ["name", label, "state"]
    for order in (["comma 2", "comma 1"], ["comma 1", "comma 2"]):
        page.find(f"thead th[title='{label}'] button").click()
        page.until(lambda order=order: page.texts(NAMES) == order)
