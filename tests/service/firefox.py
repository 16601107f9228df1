"""Firefox without a screen, driven by WebDriver BiDi, which it speaks without another program."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import websocket
from selenium.webdriver.common.by import By

# Keeps what the policy refuses, for `complaints`.
_WATCH = """() => {
    window.refused = [];
    addEventListener("securitypolicyviolation", (event) => window.refused.push(event.blockedURI));
}"""
_SIZE = {"width": 1280, "height": 800}


class Firefox:
    """The part of Selenium's interface that a walk of the page needs."""

    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(
            f"{address}/session", suppress_origin=True, timeout=60
        )
        self._number = 0
        self._errors: list[str] = []
        self.version = self.send("session.new", capabilities={})["capabilities"]["browserVersion"]
        [context] = self.send("browsingContext.getTree")["contexts"]
        self._context: str = context["context"]
        self.send("session.subscribe", events=["log.entryAdded"])
        self.send("browsingContext.setViewport", context=self._context, viewport=_SIZE)
        self.before_each_page(_WATCH)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command; return its result. Events that arrive before it are kept."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv())
            entry = message.get("params", {})
            if message["type"] == "event" and entry.get("level") == "error":
                self._errors.append(str(entry.get("text")))
            elif message.get("id") == self._number:
                assert message["type"] == "success", f"{method}: {message}"
                result: dict[str, Any] = message["result"]
                return result

    def before_each_page(self, function: str) -> None:
        self.send("script.addPreloadScript", functionDeclaration=function)

    def get(self, url: str) -> None:
        self.send("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def add_cookie(self, cookie: dict[str, str], host: str) -> None:
        value = {"type": "string", "value": cookie["value"]}
        made = {"name": cookie["name"], "value": value, "domain": host, "path": "/"}
        self.send("storage.setCookie", cookie=made)

    def execute_script(self, script: str, *arguments: Any) -> Any:
        return self._called(
            f"(function () {{ {script} }}).apply(null, JSON.parse(text))", arguments
        )

    def execute_async_script(self, script: str, *arguments: Any) -> Any:
        body = f"(function () {{ {script} }}).apply(null, [...JSON.parse(text), done])"
        return self._called(f"new Promise((done) => {body})", arguments)

    def _called(self, expression: str, arguments: tuple[Any, ...]) -> Any:
        """Return what an expression is, which may use the JSON `text` of arguments."""
        given = [{"type": "string", "value": json.dumps(arguments)}]
        found = self.send(
            "script.callFunction",
            functionDeclaration=f"async (text) => JSON.stringify((await {expression}) ?? null)",
            arguments=given,
            target={"context": self._context},
            awaitPromise=True,
        )
        assert found["type"] == "success", found.get("exceptionDetails")
        return json.loads(found["result"]["value"])

    def find_elements(self, by: str, selector: str) -> list[int]:
        """Return a number for each element."""
        assert by == By.CSS_SELECTOR
        count: int = self.execute_script(
            "return document.querySelectorAll(arguments[0]).length", selector
        )
        return list(range(count))

    def press_keys(self, keys: str) -> None:
        """Type to whatever has the focus."""
        pairs = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": pairs}
        self.send("input.performActions", context=self._context, actions=[source])

    def complaints(self) -> list[str]:
        """Return errors of scripts and the console since the last call, and what was refused."""
        refused: list[str] = self.execute_script("return window.refused ?? []")
        found, self._errors = [*self._errors, *refused], []
        return found

    def close(self) -> None:
        self._socket.close()


@contextmanager
def started_firefox() -> Iterator[Firefox]:
    """A Firefox with a profile of its own; the test is skipped where there is none."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("no Firefox here: apt-get install firefox-esr")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [program, "--headless", "--no-remote", "--profile", folder]
        process = subprocess.Popen(
            [*command, "--remote-debugging-port", "0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        reading = threading.Thread(target=process.stderr.read)
        try:
            for line in process.stderr:
                if match := re.search(r"WebDriver BiDi listening on (ws://\S+)", line):
                    break
            else:
                raise AssertionError(f"{program} ended with {process.wait()}")
            reading.start()  # a full pipe would stop Firefox
            browser = Firefox(match.group(1))
            try:
                yield browser
            finally:
                browser.close()
        finally:
            process.kill()
            process.wait()
            if reading.ident:
                reading.join()
            process.stderr.close()
