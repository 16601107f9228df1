"""axe-core finds nothing on any view (WCAG 2.2 A and AA, and good practice)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from ipulse.stack.redis_server import RedisServer
from tests.service.chromium import started_browser
from tests.service.http.routes.test_neuron_packages import PACKAGE
from tests.service.running import SPEC, InProcess, settings_for

from .conftest import Page
from .whole_page import COUNTED, address, fill, patterns, shown, views

pytestmark = pytest.mark.browser

AXE = (Path(__file__).parent / "axe.min.js").read_text("utf-8")
RUN = """
    const done = arguments[0];
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    axe.run(document, { runOnly: tags }).then(({ violations }) => done(violations.map(
      (one) => `${one.id}: ${one.nodes.map((node) => node.target).join(", ")}`)));
"""
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Addresses with a query, of views that `views` opens without one.
STATES = (
    "/jobs?q=name:nothing",
    "/jobs?q=seed>",
    "/jobs?q=name:compared&group=seed",
    "/compare?q=name:compared",
    "/compare?q=name:compared&by=seed",
    "/profiles/diff?equal=show&a={jobs}&b={jobs}",
    "/new?from={jobs}",
)
# A list, charts with tables, and one job; the others follow with `verify`.
QUICK = ("/jobs", "/compare?q=name:compared", "/jobs/{jobs}")
EVERY_SCREEN = pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 360), ("dark", 360)]
)


def violations(page: Page) -> list[str]:
    page.driver.execute_script(AXE)
    found: list[str] = page.driver.execute_async_script(RUN)
    return found


# Every answer of the service but that about the session: none comes, or an error.
HINDERED = """
  {
    const native = window.fetch;
    window.fetch = (to, options) => {
      const { pathname } = new URL(to.url ?? to, location);
      if (!pathname.startsWith("/v1/") || pathname === "/v1/session") return native(to, options);
      if (%s) return new Promise(() => {});
      const problem = { title: "Unavailable", status: 503, code: "unavailable", detail: "no disk" };
      const headers = { "content-type": "application/problem+json" };
      return Promise.resolve(new Response(JSON.stringify(problem), { status: 503, headers }));
    };
  }
"""
# Presses the button number `arguments[0]`, also in a closed menu; returns view and words, or null.
PRESS = """
    const all = [...document.querySelectorAll("header button, main button")];
    const button = all[arguments[0]];
    if (!button) return null;
    const words = button.ariaLabel ?? button.textContent.trim();
    const key = `${document.querySelector("main > *").localName}: ${words}`;
    if (arguments[1].includes(key) || button.disabled) return key;
    const owner = button.closest("[popover]");
    (owner ? document.querySelector(`[popovertarget="${owner.id}"]`) : button).focus();
    button.click();
    return key;
"""
# Nothing changes on the service.
READ_ONLY = """
  {
    const native = window.fetch;
    window.fetch = (to, options) => {
      const method = options?.method ?? to.method ?? "GET";
      if (method === "GET" || new URL(to.url ?? to, location).pathname.includes(":"))
        return native(to, options);
      return new Promise(() => {});
    };
  }
"""
# The stop of the keyboard: its words, and whether it can be seen; null outside of the page.
STOP = """
    let one = document.activeElement;
    while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
    if (!one || one === document.body || one.matches("html")) return null;
    const stops = (window.stops ??= []);
    if (!stops.includes(one)) stops.push(one);
    const box = one.getBoundingClientRect();
    const x = Math.min(Math.max(box.x + box.width / 2, 1), innerWidth - 1);
    const y = Math.min(Math.max(box.y + Math.min(box.height, innerHeight) / 2, 1), innerHeight - 1);
    const top = one.getRootNode().elementFromPoint(x, y);
    const hasRing = (each) => {
      const { outlineStyle, boxShadow } = getComputedStyle(each);
      return outlineStyle !== "none" || boxShadow !== "none";
    };
    const near = [one, one.nextElementSibling, one.getRootNode().host, one.closest(".search")];
    const isSeen = near.some((each) => each && hasRing(each))
      && (one.contains(top) || Boolean(top?.contains(one)) || one.labels?.[0]?.contains(top));
    if (one.matches("iframe")) return [one.title, true]; // the focus may be in its document
    const words = one.ariaLabel ?? (one.innerText?.trim() || one.name || one.localName);
    return [words.slice(0, 60), isSeen];
"""
# What a pointer can use, and the keyboard has not reached.
UNREACHED = """
    const kinds = "a[href], button, input, select, textarea, summary, [tabindex]";
    const roots = [document, ...[...document.querySelectorAll("*")].map((one) => one.shadowRoot)];
    const all = roots.filter(Boolean).flatMap((root) => [...root.querySelectorAll(kinds)]);
    const group = (one) => (one.type === "radio" ? `${one.form?.id} ${one.name}` : null);
    const groups = new Set(window.stops.map(group));
    return all
      .filter((one) => one.tabIndex >= 0 && !one.disabled && !window.stops.includes(one))
      .filter((one) => one.checkVisibility({ visibilityProperty: true }))
      .filter((one) => !(one.type === "radio" && groups.has(group(one))))
      .map((one) => one.outerHTML.slice(0, 200));
"""
MOST_STOPS = 400


@contextmanager
def script(page: Page, source: str) -> Iterator[None]:
    """Run a script before those of each page."""
    body = {"source": source}
    added = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", body)
    try:
        yield
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


@pytest.fixture(scope="module")
def service(
    redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[InProcess]:
    """A service whose owner signed off a package of neurons."""
    home = tmp_path_factory.mktemp("home")
    settings = settings_for(home, redis_server.url, neuron_packages=[PACKAGE], lease_seconds=600)
    with InProcess(settings) as running:
        yield running


@pytest.fixture(scope="module")
def values(service: InProcess) -> dict[str, str]:
    """What addresses of filled views have in place of parameters."""
    service.submit({**SPEC, "name": "a-name-without-a-space-" * 5})
    return fill(service)


@pytest.fixture
def counted(page: Page) -> Iterator[Page]:
    """A page that counts its requests, for `shown`."""
    with script(page, COUNTED):
        yield page


def every_address(page: Page, values: dict[str, str]) -> Iterator[str]:
    """Open every view, with tabs and in further states."""
    yield from views(page, values)
    for state in STATES:
        path = state.format_map(values)
        shown(page, path)
        yield path


@pytest.mark.parametrize("path", QUICK)
def test_a_view_has_no_violation_and_fits_a_phone(
    counted: Page, path: str, values: dict[str, str]
) -> None:
    shown(counted, path.format_map(values))
    assert violations(counted) == []
    counted.resize(360)
    counted.until(lambda: counted.driver.execute_script("return innerWidth") == 360)
    counted.until(lambda: counted.driver.execute_script(OVERFLOW) == 0)


@pytest.mark.verify
@EVERY_SCREEN
def test_no_view_has_a_violation(
    counted: Page, width: int, scheme: str, values: dict[str, str]
) -> None:
    counted.resize(width)
    counted.scheme(scheme)
    found: dict[str, object] = {}
    for path in every_address(counted, values):
        if problems := violations(counted):
            found[path] = problems
        if wider := counted.driver.execute_script(OVERFLOW):
            found[f"width of {path}"] = wider
    assert not found, json.dumps(found, indent=1)


@pytest.fixture
def empty_page(redis_server: RedisServer, tmp_path: Path) -> Iterator[Page]:
    """The page of a service with nothing to show, in a browser of its own."""
    with InProcess(settings_for(tmp_path, redis_server.url)) as alone, started_browser() as driver:
        page = Page(driver, alone)
        page.open("/web/icon.svg")
        with alone.client(alone.settings.token_file) as browser:
            page.sign_in(browser)
        with script(page, COUNTED):
            yield page
        assert page.complaints() == []


@pytest.mark.verify
@EVERY_SCREEN
def test_no_empty_view_has_a_violation(empty_page: Page, width: int, scheme: str) -> None:
    """The parameters name nothing: these views say so."""
    empty_page.resize(width)
    empty_page.scheme(scheme)
    nothing = dict.fromkeys(("jobs", "sweeps", "datasets", "projects"), "nothing")
    found = {path: violations(empty_page) for path in views(empty_page, nothing)}
    failed = {path: problems for path, problems in found.items() if problems}
    assert not failed, json.dumps(failed, indent=1)


@pytest.mark.verify
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
@pytest.mark.parametrize("state", ["loading", "error"])
def test_no_view_has_one_while_it_waits_and_when_it_fails(
    page: Page, state: str, scheme: str, width: int, values: dict[str, str]
) -> None:
    page.resize(width)
    page.scheme(scheme)
    place = {"loading": ".skeleton, main h1", "error": "[role=alert], main h1"}[state]
    found: dict[str, list[str]] = {}
    paths = [address(pattern, values) for pattern in patterns(page)]
    with script(page, HINDERED % str(state == "loading").lower()):
        for path in paths:
            page.open(path)
            page.find(place)
            if problems := violations(page):
                found[path] = problems
    assert not found, json.dumps(found, indent=1)


@pytest.mark.verify
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_dialog_has_a_name_and_closes_with_escape(
    counted: Page, scheme: str, values: dict[str, str]
) -> None:
    """Each button is pressed once a view; the focus returns to where it was."""
    page = counted
    page.scheme(scheme)
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "deny"})
    pressed: list[str] = []
    dialogs: set[str] = set()
    found: dict[str, object] = {}
    with script(page, READ_ONLY):
        for path in every_address(page, values):
            for number in range(MOST_STOPS):
                before = page.address()
                key = page.driver.execute_script(PRESS, number, pressed)
                if key is None:
                    break
                if key in pressed:
                    continue
                pressed.append(key)
                page.driver.execute_async_script("requestAnimationFrame(() => arguments[0]())")
                if page.all("dialog[open]"):
                    name = page.driver.execute_script(
                        "return document.querySelector('dialog[open]').ariaLabel"
                    )
                    dialogs.add(name)
                    problems = violations(page)
                    page.type(Keys.ESCAPE)
                    page.until(lambda: not page.all("dialog[open]"))
                    if page.driver.execute_script(STOP) is None:
                        problems.append("the focus is lost")
                    if problems or not name:
                        found[f"{path} {key}"] = problems
                elif page.address() != before:
                    shown(page, path)
    assert not found, json.dumps(found, indent=1)
    assert {"New token", "Keyboard shortcuts"} <= dialogs
    shown(page, "/new")
    page.press("Submit as sweep …")  # which loads its dialog first
    page.find("dialog[open]")
    assert violations(page) == []
    page.type(Keys.ESCAPE)
    page.until(lambda: not page.all("dialog[open]"))


@pytest.mark.verify
def test_every_view_is_walked_with_the_tab_key(counted: Page, values: dict[str, str]) -> None:
    """Twice around, because some views begin in a field."""
    page = counted
    found: dict[str, object] = {}
    for path in every_address(page, values):
        hidden: set[str] = set()
        rounds, stops = 0, 0
        while rounds < 2 and stops < MOST_STOPS:
            stops += 1
            page.type(Keys.TAB)
            stop = page.driver.execute_script(STOP)
            if stop is None:
                rounds += 1
                continue
            words, is_seen = stop
            if not is_seen:
                hidden.add(words)
            if not words:
                found[f"no name on {path}"] = stops
        if rounds < 2:
            found[f"trap on {path}"] = words
        if hidden:
            found[f"no visible focus on {path}"] = sorted(hidden)
        if unreached := page.driver.execute_script(UNREACHED):
            found[f"not reached on {path}"] = unreached
    assert not found, json.dumps(found, indent=1)
