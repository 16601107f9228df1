"""axe-core finds nothing on any view (WCAG 2.2 A and AA, and good practice)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.service.agents import METRIC
from tests.service.running import SPEC, InProcess

from .conftest import Page

pytestmark = pytest.mark.browser

AXE = (Path(__file__).parent / "axe.min.js").read_text("utf-8")
RUN = """
    const done = arguments[0];
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    axe.run(document, { runOnly: tags }).then(({ violations }) => done(violations.map(
      (one) => `${one.id}: ${one.nodes.map((node) => node.target).join(", ")}`)));
"""
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Each view, and an element that is there once it is shown.
VIEWS = {
    "/jobs": "table a.name",
    "/jobs?q=name:nothing": ".empty",
    "/jobs?q=seed>": ".search-error",
    "/compare": ".empty",
    "/compare?q=name:compared": "svg.dots",
    "/jobs?q=name:compared&group=seed": "tbody td",
    "/sweeps": ".empty",
    "/datasets": ".drop",
    "/ops": ".empty",
    "/devices": ".why",
    "/settings/tokens": ".empty",
    "/settings/webhooks": ".empty",
    "/login": "#token",
    "/new": ".plan-title.ok",
    "/jobs/latest": ".outcome",
    **{
        f"/jobs/latest/{tab}": "ip-job .empty"
        for tab in ("metrics", "spikes", "profile", "attempts", "files", "report")
    },
    "/jobs/latest/layers": "ip-job-layers table",
    "/jobs/latest/log": "ip-job-log .log",
    "/jobs/latest/config": "pre.yaml .key",
}


# A list, charts with tables, and one job; the others follow with `verify`.
QUICK = ("/jobs", "/compare?q=name:compared", "/jobs/latest")
QUICK_OR_VERIFY = [
    pytest.param(path, marks=() if path in QUICK else pytest.mark.verify) for path in VIEWS
]


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
# The sign-in asks for nothing, and a new job has its editor before the service answers.
AT_ONCE = {"/login": "#token", "/new": "ip-new h1"}


@contextmanager
def hindered(page: Page, is_silent: bool) -> Iterator[None]:
    source = {"source": HINDERED % str(is_silent).lower()}
    added = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)
    try:
        yield
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


@pytest.fixture(scope="module")
def job_id(service: InProcess) -> str:
    """Jobs, so that lists are not empty."""
    for seed in (1, 2, 3):
        attempt = service.attempt(service.submit({**SPEC, "name": "compared", "seed": seed})["id"])
        attempt.report({**METRIC, "scope": "epoch", "values": {"test_accuracy": seed / 4}})
        attempt.complete()
    made: str = service.submit({**SPEC, "name": "a-name-without-a-space-" * 5})["id"]
    return made


@pytest.mark.parametrize("path", QUICK_OR_VERIFY)
def test_a_view_has_no_violation_and_fits_a_phone(page: Page, path: str, job_id: str) -> None:
    page.open(path)
    page.find(VIEWS[path])
    assert violations(page) == []
    page.resize(360)
    page.until(lambda: page.driver.execute_script("return innerWidth") == 360)
    page.until(lambda: page.driver.execute_script(OVERFLOW) == 0)


@pytest.mark.verify
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 360])
@pytest.mark.parametrize("path", VIEWS)
def test_no_theme_and_no_width_has_one(
    page: Page, path: str, width: int, scheme: str, job_id: str
) -> None:
    page.resize(width)
    page.scheme(scheme)
    page.open(path)
    page.find(VIEWS[path])
    assert violations(page) == []


@pytest.mark.verify
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
@pytest.mark.parametrize(("state", "place"), [("loading", ".skeleton"), ("error", "[role=alert]")])
@pytest.mark.parametrize("path", VIEWS)
def test_no_view_has_one_while_it_waits_and_when_it_fails(
    page: Page, path: str, state: str, place: str, scheme: str, width: int, job_id: str
) -> None:
    page.resize(width)
    page.scheme(scheme)
    with hindered(page, is_silent=state == "loading"):
        page.open(path)
        page.find(AT_ONCE.get(path, place))
        assert violations(page) == []
