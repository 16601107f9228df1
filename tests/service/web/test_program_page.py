"""The page of a job that runs a program."""

from __future__ import annotations

import httpx
import pytest

from tests.service.http.routes.test_programs import package, pushed, spec
from tests.service.running import InProcess

from .conftest import Page

pytestmark = pytest.mark.browser


def submitted(service: InProcess, name: str = "my program") -> str:
    body = {"name": name, "role": "user", "seconds": 600, "submit_code": True}
    token = service.user.post("/v1/tokens", json=body).json()["token"]
    with service.client() as client:
        client.headers["authorization"] = f"Bearer {token}"
        assert pushed(client, package()).status_code in (204, 409)
        job: httpx.Response = client.post("/v1/jobs", json=spec(package(), name=name))
    return str(job.json()["id"])


def test_it_shows_what_a_program_has(page: Page, service: InProcess) -> None:
    job = submitted(service)
    page.open(f"/jobs/{job}")
    page.until(lambda: "my program" in page.find("main").text)
    tabs = page.texts(".tabs a")
    assert {"Overview", "Profile", "Log", "Files", "Report"} <= set(tabs)
    assert not {"Metrics", "Spikes", "Layers"} & set(tabs)
    page.open(f"/jobs/{job}/config")
    page.until(lambda: "kind: poplar_program" in page.find("pre.yaml").text)
    assert "limits" not in page.find("pre.yaml").text  # those are the defaults
