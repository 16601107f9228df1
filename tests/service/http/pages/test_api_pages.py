"""Swagger UI and ReDoc in a real browser, and the files that they are made of."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from ipulse_service.http import web
from tests.network_log import hosts_asked, policy_violations
from tests.service.conditions import eventually
from tests.service.running import ROOT, InProcess

VENDOR = Path(web.__file__).parent / "vendor"
LOCK = "versions.json"
METHODS = ("get", "put", "post", "delete", "head", "patch")


def test_the_vendored_files_are_those_of_the_lock() -> None:
    packages = json.loads((VENDOR / LOCK).read_text())
    locked = {name: digest for package in packages for name, digest in package["files"].items()}
    there = {path.name for path in VENDOR.iterdir() if path.is_file()} - {LOCK}
    assert there == set(locked)
    for name, digest in locked.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name
    for package in packages:
        assert package["version"]
        assert any("LICENSE" in name for name in package["files"])


def test_the_bundles_are_those_of_their_list() -> None:
    folder = VENDOR / "bundles"
    bundles = json.loads((folder / "bundles.json").read_text())
    listed = {name: digest for bundle in bundles for name, digest in bundle["files"].items()}
    assert {path.name for path in folder.iterdir()} == {"bundles.json", *listed}
    for name, digest in listed.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
    lock = json.loads((ROOT / "scripts/web/package-lock.json").read_text())["packages"]
    for bundle in bundles:
        text = (folder / f"{bundle['bundle']}.LICENSE.txt").read_text()
        assert bundle["packages"]
        for package in bundle["packages"]:
            name, version, license_name = package.rsplit(" ", 2)
            assert lock[f"node_modules/{name}"]["version"] == version
            assert f"{name} {version} ({license_name})" in text


def sign_in(driver: webdriver.Chrome, service: InProcess) -> None:
    """Signs the browser in with a one-time code, as `ipulse open` does."""
    code = service.user.post("/v1/sign-in-codes").json()["code"]
    driver.get(f"{service.url}/login#code={code}")
    eventually(lambda: driver.current_url.endswith("/jobs"))


def open_page(driver: webdriver.Chrome, service: InProcess, path: str) -> None:
    """Opens a page and signs in with the form that it shows."""
    driver.get("about:blank")
    driver.get_log("performance")
    driver.get_log("browser")
    driver.get(service.url + path)
    driver.delete_all_cookies()
    driver.get(service.url + path)
    field = eventually(lambda: find(driver, "#token"))
    field[0].send_keys(service.settings.token_file.read_text().strip() + "\n")


def find(driver: webdriver.Chrome, selector: str) -> list[WebElement]:
    return driver.find_elements(By.CSS_SELECTOR, selector)


def operations(service: InProcess) -> list[tuple[str, str]]:
    paths = service.user.get("/openapi.json").json()["paths"]
    return [(m, path) for path, item in paths.items() for m in item if m in METHODS]


@pytest.mark.verify
def test_swagger_ui_shows_every_operation_and_tries_one(
    service: InProcess, driver: webdriver.Chrome
) -> None:
    job_id = service.submit()["id"]
    open_page(driver, service, "/docs")
    count = len(operations(service))
    seen: set[str] = set()

    def scrolled_past_all() -> bool:
        """Scrolls, because Swagger UI draws only the visible part of a long list."""
        shown = "return Array.from(document.querySelectorAll('.opblock'), (each) => each.id)"
        seen.update(driver.execute_script(shown))
        driver.execute_script("window.scrollBy(0, window.innerHeight / 2)")
        return len(seen) == count

    eventually(scrolled_past_all)
    driver.execute_script("window.scrollTo(0, 0)")
    [block] = eventually(lambda: find(driver, "#operations-jobs-list_jobs"))
    block.find_element(By.CSS_SELECTOR, ".opblock-summary-control").click()
    eventually(lambda: block.find_elements(By.CSS_SELECTOR, ".try-out__btn"))[0].click()
    eventually(lambda: block.find_elements(By.CSS_SELECTOR, ".execute"))[0].click()
    answer = ".live-responses-table .response"
    [row] = eventually(lambda: block.find_elements(By.CSS_SELECTOR, answer))
    assert row.find_element(By.CSS_SELECTOR, ".response-col_status").text.startswith("200")
    assert job_id in row.text
    assert set(hosts_asked(driver)) == {urlsplit(service.url).netloc}
    assert policy_violations(driver) == []


@pytest.mark.verify
def test_redoc_shows_every_operation(service: InProcess, driver: webdriver.Chrome) -> None:
    open_page(driver, service, "/redoc")
    expected = {path for _, path in operations(service)}

    def shown() -> set[str]:
        return {path for path in expected if path in driver.page_source}

    eventually(lambda: find(driver, ".redoc-wrap") and shown() == expected)
    assert set(hosts_asked(driver)) == {urlsplit(service.url).netloc}
    assert policy_violations(driver) == []
    assert not [image for image in find(driver, ".redoc-wrap img") if image.is_displayed()]


def test_the_page_of_jobs_links_there_with_its_session(
    service: InProcess, driver: webdriver.Chrome
) -> None:
    sign_in(driver, service)
    eventually(lambda: find(driver, "button[aria-label=Help]"))[0].click()
    links = eventually(lambda: [a for a in find(driver, "a[href='/docs']") if a.is_displayed()])
    links[0].click()
    eventually(lambda: find(driver, ".opblock"))


def test_after_signing_out_a_token_is_asked_for(
    service: InProcess, driver: webdriver.Chrome
) -> None:
    sign_in(driver, service)
    leave = "return fetch('/v1/session', {method: 'DELETE', headers: {'x-ipulse-page': '1'}})"
    driver.execute_script(leave)
    driver.get(service.url + "/docs")
    eventually(lambda: find(driver, "#token"))
    assert not find(driver, ".opblock")


def test_what_the_policy_refuses_is_noticed(service: InProcess, driver: webdriver.Chrome) -> None:
    sign_in(driver, service)
    assert policy_violations(driver) == []
    driver.execute_script("document.body.append(document.createElement('style'))")
    driver.execute_script("document.querySelector('body > style').textContent = 'b { top: 0 }'")
    assert eventually(lambda: policy_violations(driver))
