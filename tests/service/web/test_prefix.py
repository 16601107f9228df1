"""The page below a path of a host, behind a proxy that takes the path off."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from selenium import webdriver
from selenium.webdriver.remote.webelement import WebElement

from tests.network_log import hosts_asked
from tests.service.conditions import eventually
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.browser

PREFIX = "/user/ada/proxy/8470"
OF_A_CONNECTION = {"connection", "transfer-encoding", "content-encoding", "content-length"}
ADDRESSES = """
    return [...document.querySelectorAll("a[href], link[href], script[src], img[src]")]
      .map((one) => one.href || one.src);
"""


@contextmanager
def proxy(target: str) -> Iterator[str]:
    """A proxy that shows a service below PREFIX, and nothing beside it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(size) if size else None
            if not self.path.startswith(f"{PREFIX}/"):
                self.send_error(404)
                return
            headers = {**self.headers, "accept-encoding": "identity"}
            path = self.path.removeprefix(PREFIX)
            response = httpx.request(self.command, target + path, headers=headers, content=body)
            self.send_response(response.status_code)
            for name, value in response.headers.multi_items():
                if name not in OF_A_CONNECTION:
                    self.send_header(name, value)
            self.send_header("content-length", str(len(response.content)))
            self.end_headers()
            self.wfile.write(response.content)

        do_GET = do_POST = do_PATCH = do_DELETE = forward

        def log_message(self, *_: object) -> None:
            """Writes nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
        server.shutdown()
        thread.join()


def test_the_page_works_below_a_path(driver: webdriver.Chrome, service: InProcess) -> None:
    job_id = service.submit({**SPEC, "name": "below a path"})["id"]
    service.user.post(f"/v1/jobs/{job_id}/cancel")
    token = service.settings.token_file.read_text().strip()

    def seen(selector: str) -> WebElement:
        return eventually(lambda: driver.find_elements("css selector", selector))[0]

    with proxy(service.url) as url:
        driver.get(url + "/login")
        seen("#token").send_keys(token + "\n")
        eventually(lambda: driver.current_url.startswith(f"{url}/jobs"))
        for path, selector in (
            ("/", "table a.name"),
            (f"/jobs/{job_id}/config", "pre.yaml .key"),
            ("/compare", "ip-compare a.button"),
            ("/new", "ip-editor"),
            ("/docs", ".opblock-summary-path"),
        ):
            driver.get(url + path)
            seen(selector)
            addresses = driver.execute_script(ADDRESSES)
            outside = [one for one in addresses if not one.startswith((url, "https://"))]
            assert not outside, path
        driver.get(f"{url}/jobs?q=name:%22below+a+path%22")
        eventually(lambda: seen("table a.name").text == "below a path")
        seen("table a.name").click()
        eventually(lambda: driver.current_url == f"{url}/jobs/{job_id}")
        driver.back()
        eventually(lambda: "q=name" in driver.current_url)
        assert driver.current_url.startswith(url)
        own = url.split("/")[2]
        assert set(hosts_asked(driver)) == {own}, "nothing was asked beside the proxy"
        driver.delete_all_cookies()
