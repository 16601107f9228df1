"""On loopback the page has a name of its own, so that no other port gets its cookie."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit

import pytest
from selenium import webdriver

from tests.service.running import InProcess
from tests.service.web.conftest import ENTER, Page


@pytest.fixture
def stranger(chromium: webdriver.Chrome, service: InProcess) -> Iterator[Page]:
    """A browser that has never been here."""
    chromium.get(f"{service.url}/web/icon.svg")
    chromium.execute_script("localStorage.clear(); sessionStorage.clear()")
    chromium.delete_all_cookies()
    yield Page(chromium, service)
    chromium.delete_all_cookies()
    chromium.get("about:blank")


@contextmanager
def other_program() -> Iterator[tuple[str, list[str]]]:
    """A program at another port of this machine, and the cookies that it got."""
    cookies: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cookies.append(self.headers.get("cookie", ""))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Prints nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", cookies
        server.shutdown()
        thread.join()


def name_of(page: Page) -> str:
    return urlsplit(str(page.driver.current_url)).hostname or ""


def signed_in(page: Page, token: str) -> None:
    page.open("/login")
    page.find("#token").send_keys(token + ENTER)


def test_the_page_moves_to_its_own_name_and_no_other_port_gets_the_cookie(
    stranger: Page, service: InProcess
) -> None:
    token = service.settings.token_file.read_text().strip()
    signed_in(stranger, token)
    stranger.until(lambda: name_of(stranger).endswith(".localhost"))
    stranger.until(lambda: "Jobs" in stranger.texts("h1"))
    assert stranger.driver.get_cookies() != []
    with other_program() as (url, cookies):
        stranger.driver.get(url)
        assert cookies
        assert not any("ipulse" in cookie for cookie in cookies)
    stranger.open("/jobs")  # at 127.0.0.1 the browser remembers where the page is
    stranger.until(lambda: name_of(stranger).endswith(".localhost"))
    stranger.until(lambda: "Jobs" in stranger.texts("h1"))


def test_who_stays_is_told_what_that_means(stranger: Page, service: InProcess) -> None:
    token = service.settings.token_file.read_text().strip()
    stranger.open("/login")
    script = "localStorage.setItem('ipulse-page', 'http://ipulse-0.localhost:1')"
    stranger.driver.execute_script(script)
    stranger.open("/login")
    stranger.press("Sign in here")
    stranger.until(lambda: any("cookie" in text for text in stranger.texts("form .small")))
    stranger.find("#token").send_keys(token + ENTER)
    stranger.until(lambda: "Jobs" in stranger.texts("h1"))
    assert name_of(stranger) == "127.0.0.1"


def test_only_who_has_signed_in_learns_the_name(service: InProcess) -> None:
    made = service.user.post("/v1/sign-in-codes").json()
    name = urlsplit(made["page_url"]).hostname
    assert name
    with service.client() as nobody:
        for path in ("/", "/login", "/healthz", "/web/icon.svg"):
            answer = nobody.get(path)
            assert name not in answer.text + str(answer.headers)
        own = {"host": urlsplit(made["page_url"]).netloc}
        assert nobody.get("/login", headers=own).status_code == 200
        other = {"host": "ipulse-0123456789abcdef.localhost"}
        assert nobody.get("/login", headers=other).status_code == 400
        assert service.user.post("/v1/sign-in-codes", headers=own).json()["page_url"] is None
