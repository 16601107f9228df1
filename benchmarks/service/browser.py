"""A headless Chromium that says when a view of the page is drawn."""

from __future__ import annotations

import gzip
import shutil
from types import TracebackType
from typing import Any, Self

import httpx
from selenium import webdriver

FLAGS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")
PATIENCE = 120  # seconds

# Looks after each change of the page; the view is drawn in the frame after it.
_WHEN = """
    window.whenDrawn = (test, done) => {
      let isDone = false;
      const look = () => {
        let isTrue = false;
        try { isTrue = test(); } catch { /* not yet */ }
        if (!isTrue || isDone) return;
        isDone = true;
        observer.disconnect();
        clearInterval(timer);
        requestAnimationFrame(() => setTimeout(() => done(performance.now())));
      };
      const observer = new MutationObserver(look);
      const all = { childList: true, subtree: true, characterData: true, attributes: true };
      observer.observe(document, all);
      const timer = setInterval(look, 20); // what changes without the document, such as a canvas
      look();
    };
    window.layoutShift = 0;
    new PerformanceObserver((list) => {
      for (const { hadRecentInput, value } of list.getEntries())
        if (!hadRecentInput) window.layoutShift += value;
    }).observe({ type: "layout-shift", buffered: true });
"""


class HeadlessBrowser:
    """Opens views of a page, signed in if it gets a token, and measures in milliseconds."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        self._url = url
        self._headers = headers

    def __enter__(self) -> Self:
        """Start the browser and sign in."""
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in FLAGS:
            options.add_argument(flag)
        service = webdriver.ChromeService(shutil.which("chromedriver") or "")
        self._driver = webdriver.Chrome(options=options, service=service)
        self._driver.set_script_timeout(PATIENCE)
        self._command("Page.addScriptToEvaluateOnNewDocument", {"source": _WHEN})
        metrics = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._command("Emulation.setDeviceMetricsOverride", metrics)
        if self._headers is not None:
            self._sign_in(self._headers)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the browser."""
        self._driver.quit()

    def opened(self, path: str, test: str) -> float:
        """Open an address with an empty cache; return the time until `test` is true and drawn."""
        self._driver.get("about:blank")  # else a new fragment would load nothing
        self._command("Network.clearBrowserCache", {})
        self._driver.get(f"{self._url}{path}")
        return self._script(f"whenDrawn(() => {test}, done);")

    def acted(self, act: str, test: str, *arguments: Any) -> float:
        """Run a script; return the time until `test` is true and drawn."""
        return self._script(
            f"const began = performance.now(); {act}; "
            f"whenDrawn(() => {test}, (now) => done(now - began));",
            *arguments,
        )

    def followed(self, path: str, test: str) -> float:
        """Follow a link of the page; return the time until `test` is true and drawn."""
        link = "const link = document.createElement('a'); link.href = arguments[0]; "
        return self.acted(f"{link} document.body.append(link); link.click()", test, path)

    def since(self, began: float, test: str) -> float:
        """Return the milliseconds from a time of this machine until `test` is true and drawn."""
        return self._script(f"whenDrawn(() => {test}, () => done(Date.now() - {1000 * began}));")

    def until(self, test: str) -> None:
        """Wait for `test`."""
        self._script(f"whenDrawn(() => {test}, done);")

    def facts(self) -> dict[str, float]:
        """Return the layout shift, and the packed bytes of the scripts that the view loaded."""
        shift = self._driver.execute_script("return layoutShift")
        names = self._driver.execute_script(
            'return performance.getEntriesByType("resource").map(({ name }) => name)'
        )
        scripts = {name for name in names if name.endswith(".js")}
        packed = sum(len(gzip.compress(httpx.get(name).content, 9)) for name in scripts)
        return {"shift": shift, "script_bytes": packed}

    def heap_bytes(self) -> float:
        """Return the bytes of the page's objects."""
        self._command("HeapProfiler.collectGarbage", {})
        return float(self._driver.execute_script("return performance.memory.usedJSHeapSize"))

    def _sign_in(self, headers: dict[str, str]) -> None:
        self._driver.get(f"{self._url}/web/icon.svg")
        with httpx.Client(base_url=self._url, headers=headers) as http:
            http.post("/v1/sessions").raise_for_status()
            for cookie in http.cookies.jar:
                made = {"name": cookie.name, "value": cookie.value or "", "path": "/"}
                self._driver.add_cookie(made)

    def _script(self, script: str, *arguments: Any) -> float:
        text = f"const done = arguments[arguments.length - 1]; {script}"
        return float(self._driver.execute_async_script(text, *arguments))

    def _command(self, name: str, parameters: dict[str, Any]) -> None:
        self._driver.execute_cdp_cmd(name, parameters)
