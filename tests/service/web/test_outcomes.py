"""The outcome that the page shows of jobs that failed, were cancelled, paused or lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.service.agents import METRIC, PHASES, line, phase
from tests.service.conditions import eventually
from tests.service.running import SPEC, InProcess

from . import pictures
from .conftest import Page
from .test_accessibility import violations

pytestmark = pytest.mark.browser

LINES = [f"epoch 1, step {step}: loss {0.9 - step / 10:.1f}" for step in range(1, 6)]
CHECKPOINT = {"kind": "checkpoint", "path": "checkpoint.npz", "epoch": 1, "step": 3}
WIDTHS = {"light": (1280, 720), "dark": (360, 960)}


def begun(service: InProcess, name: str) -> tuple[str, Callable[[str, str], None]]:
    """Returns a job with an attempt that trains, and what ends the attempt."""
    job_id: str = service.submit({**SPEC, "name": name})["id"]
    attempt = service.attempt(job_id)
    attempt.report(*map(phase, PHASES[:4]), METRIC, *map(line, LINES), CHECKPOINT)

    def end(reason: str, message: str) -> None:
        answer = attempt.finish(reason, message)
        assert answer.status_code == 200, answer.text

    return job_id, end


def failed(service: InProcess) -> str:
    job_id, end = begun(service, "failed")
    end("diverged", "the loss is nan after step 6")
    return job_id


def cancelled(service: InProcess) -> str:
    job_id, end = begun(service, "cancelled")
    service.user.post(f"/v1/jobs/{job_id}/cancel")
    end("cancelled_by_user", "")
    return job_id


def paused(service: InProcess) -> str:
    job_id, end = begun(service, "paused")
    service.user.post(f"/v1/jobs/{job_id}/pause")
    end("paused_by_user", "")
    return job_id


def lost(service: InProcess) -> str:
    job_id, _ = begun(service, "lost")
    service.expire_leases()
    eventually(lambda: service.job(job_id)["state"] == "queued")
    return job_id


# The heading, and a part of the hint.
WORDS = {
    failed: ("Failed: diverged", "training.optimizer.learning_rate"),
    cancelled: ("Cancelled by a user", "Continue trains on from the checkpoint of step 3"),
    paused: ("Paused", "resumes from the checkpoint of step 3"),
    lost: ("Attempt 1 was lost: worker lost", "continues from the last checkpoint"),
}


@pytest.mark.parametrize("make", WORDS, ids=lambda make: make.__name__)
def test_the_outcome_has_a_reason_a_hint_and_the_last_lines(
    page: Page, service: InProcess, make: Callable[[InProcess], str]
) -> None:
    job_id = make(service)
    heading, hint = WORDS[make]
    page.open(f"/jobs/{job_id}")
    page.until(lambda: any(text.startswith(heading) for text in page.texts(".outcome h2")))
    page.until(lambda: any(hint in text for text in page.texts(".outcome .hint")))
    page.until(lambda: page.texts(".outcome .tail")[0].splitlines()[: len(LINES)] == LINES)
    page.find("ip-curve canvas")
    assert violations(page) == []
    for scheme, (width, height) in WIDTHS.items():
        page.scheme(scheme)
        page.resize(width, height)
        page.until(lambda width=width: page.driver.execute_script("return innerWidth") == width)
        pictures.check(page, f"{make.__name__}-{scheme}", height)
    service.user.post(f"/v1/jobs/{job_id}/cancel")


def test_names_are_texts(page: Page, service: InProcess) -> None:
    name = '<img src=x onerror="document.title=1">'
    service.submit({**SPEC, "name": name})
    page.open("/jobs")
    page.until(lambda: name in page.texts("tbody a.name"))
    assert not page.all("tbody img")


def test_a_name_that_reverses_text_leaves_the_id_as_it_is(page: Page, service: InProcess) -> None:
    service.submit({**SPEC, "name": "report \u202egpj.exe"})
    page.open("/jobs")
    page.find("tbody .id")
    middle = """const middle = (node, at) => {
        const range = document.createRange();
        range.setStart(node, at); range.setEnd(node, at + 1);
        const box = range.getBoundingClientRect();
        return box.left + box.width / 2;
    };
    const nodes = [...document.querySelector("tbody .id").childNodes];
    const text = nodes.find((node) => node.nodeType === Node.TEXT_NODE);
    const places = [...text.data].map((_, at) => middle(text, at));
    return [document.querySelector("tbody a.name").getBoundingClientRect().right, ...places];"""
    places = page.driver.execute_script(middle)
    assert places == sorted(places), "the name, then the digits of the id from left to right"


def test_a_blocked_job_links_to_the_job_that_it_waits_for(page: Page, service: InProcess) -> None:
    first = service.submit({**SPEC, "name": "first of two"})["id"]
    job_id = service.user.post("/v1/jobs", json=SPEC, params={"after": first}).json()["id"]
    for path, place in ((f"/jobs/{job_id}", ".outcome"), ("/jobs", ".c-progress")):
        page.open(path)
        link = f"{place} a[href='/jobs/{first}']"
        page.until(lambda link=link: page.texts(link) == ["first of two"])
    service.user.post(f"/v1/jobs/{job_id}/cancel")
    service.user.post(f"/v1/jobs/{first}/cancel")


def test_the_table_fits_the_screen_whatever_jobs_wait_for(page: Page, service: InProcess) -> None:
    def after(first: str) -> str:
        response = service.user.post("/v1/jobs", json=SPEC, params={"after": first})
        job_id: str = response.json()["id"]
        return job_id

    name = "the-long-name-of-another-experiment with settings"
    first, over = (service.submit({**SPEC, "name": name})["id"] for _ in range(2))
    blocked, failed = after(first), after(over)
    service.user.post(f"/v1/jobs/{over}/cancel")
    for width in (1280, 360):
        page.resize(width)
        page.open("/jobs")
        page.until(lambda: page.all(f"td.c-progress a[href='/jobs/{first}']"))
        page.until(lambda: any("dependency failed" in one for one in page.texts("td.c-state")))
        for box in (".grid-box", "html"):
            shown = page.find(box)
            assert shown.get_property("scrollWidth") == shown.get_property("clientWidth"), width
    for job_id in (blocked, first):
        service.user.post(f"/v1/jobs/{job_id}/cancel")
    assert service.job(failed)["reason"] == "dependency_failed"
