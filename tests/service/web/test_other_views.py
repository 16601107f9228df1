"""Devices, tokens, sweeps and data sets on the page."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_service.news import webhooks
from tests.service.agents import PHASES, phase
from tests.service.running import InProcess

from .conftest import ENTER, Page

pytestmark = pytest.mark.browser

SWEEP: dict[str, Any] = {
    "version": 1,
    "sweep": "a sweep",
    "method": "grid",
    "parallel": 4,
    "seeds": [1],
    "parameters": {
        "/training/optimizer/learning_rate": {"values": [0.001, 0.01]},
        "/network/layers/0/neurons": {"values": [4, 8]},
    },
    "objective": {"metric": "test_accuracy", "goal": "maximize"},
    "spec": {"version": 1, "network": {"layers": [{"neurons": 4}]}, "training": {"epochs": 1}},
}


def test_devices_say_why_a_job_waits(page: Page, service: InProcess) -> None:
    spec = {"version": 1, "name": "needs an IPU", "network": {"layers": [{"neurons": 4}]}}
    service.submit({**spec, "device": {"kind": "ipu"}})
    page.open("/devices")
    page.until(lambda: any("needs an IPU" in text for text in page.texts(".why li")))
    [shown] = [text for text in page.texts(".why li") if "needs an IPU" in text]
    assert "agent" in shown
    assert "no_agent" not in shown, "a sentence, not the name of the reason"


def test_a_token_is_shown_once_and_can_be_revoked(page: Page, service: InProcess) -> None:
    page.open("/settings/tokens")
    page.press("New token")
    page.find("dialog input[name=name]").send_keys("a colleague")
    page.find("dialog input[value=reader]").click()
    page.press("Create")
    secret = page.until(lambda: page.texts("code.secret"))[0]
    headers = {"authorization": f"Bearer {secret}"}
    with service.client() as client:
        assert client.get("/v1/jobs", headers=headers).status_code == 200
        page.press("Done")
        page.until(lambda: "reader" in page.texts("tbody td"))
        page.until(lambda: secret not in page.driver.page_source)
        page.press("Revoke")
        page.find("dialog .danger").click()
        page.until(lambda: client.get("/v1/jobs", headers=headers).status_code == 401)


def test_the_right_to_submit_code_is_given_and_shown(page: Page, service: InProcess) -> None:
    page.open("/settings/tokens")
    page.press("New token")
    page.find("dialog input[name=name]").send_keys("a compiler")
    page.find("dialog input[name=code]").click()
    page.press("Create")
    page.until(lambda: page.texts("code.secret"))
    page.press("Done")
    page.until(lambda: any("code" in text for text in page.texts("tbody td")))
    [token] = service.user.get("/v1/tokens").json()["tokens"]
    assert token["submit_code"] is True


def test_a_reader_sees_its_token_and_may_change_none(page: Page, service: InProcess) -> None:
    body = {"name": "reader", "role": "reader", "seconds": 600}
    secret = service.user.post("/v1/tokens", json=body).json()["token"]
    page.driver.delete_all_cookies()
    page.open("/login?to=/settings/tokens")
    page.find("#token").send_keys(secret + ENTER)
    page.until(lambda: "reader" in page.texts("tbody td"))
    assert not page.all("main button")


def test_a_webhook_is_refused_tested_and_deleted(page: Page, service: InProcess) -> None:
    """The operator of this service allows no host."""
    page.open("/settings/webhooks")
    page.press("New webhook")
    page.find("dialog input[name=url]").send_keys("https://hooks.example.org/x")
    page.press("Create")
    page.until(lambda: any("IPULSE_WEBHOOK_HOSTS" in text for text in page.texts("[role=alert]")))
    with service.database.write() as transaction:
        url, types = "https://hooks.example.org/x", ("job.failed",)
        webhook = webhooks.create(transaction, "lab", url, "standard", types)
    page.open("/settings/webhooks")
    page.press("Test")
    place = f"/v1/webhooks/{webhook.id}/deliveries"
    page.until(lambda: "failed" in service.user.get(place).text)
    page.press("Messages")
    page.until(lambda: any("IPULSE_WEBHOOK_HOSTS" in text for text in page.texts("dialog td")))
    page.press("Close")
    page.press("Delete")
    page.find("dialog .danger").click()
    page.until(lambda: service.user.get("/v1/webhooks").json()["webhooks"] == [])


def test_a_sweep_shows_its_best_trial(page: Page, service: InProcess) -> None:
    created = service.user.post("/v1/sweeps", json=SWEEP)
    assert created.status_code == 201, created.text
    sweep = created.json()
    path = f"/v1/sweeps/{sweep['id']}"
    page.open("/sweeps")
    page.find(f"a[href='/sweeps/{sweep['id']}']").click()
    page.until(lambda: page.texts("h1") == ["a sweep"])
    for number in range(1, 5):

        def jobs(number: int = number) -> list[dict[str, Any]]:
            trials = service.user.get(f"{path}/trials").json()["trials"]
            return [job for trial in trials if trial["number"] == number for job in trial["jobs"]]

        [job] = page.until(jobs)
        attempt = service.attempt(job["id"])
        attempt.report(*map(phase, PHASES))
        attempt.put("manifest.json", "manifest")
        assert attempt.finish("completed", test_accuracy=number / 8).status_code == 200
    page.until(lambda: any("50.0 %" in text for text in page.texts(".sweep-head dd")))
    page.until(lambda: len(page.all("section[aria-label='Trials'] tbody tr")) == 4)
    first = page.texts("section[aria-label='Trials'] tbody tr:first-child td")
    assert first[0] == "4", "the best first"
    page.find("ip-curve canvas")
    page.open(f"/jobs/{job['id']}")
    page.find(f".lineage a[href='/sweeps/{sweep['id']}']")


@pytest.fixture
def npz(tmp_path: Path) -> Path:
    """Spikes of 20 samples: 10 steps, 6 channels, 2 classes."""
    random = np.random.default_rng(7)
    content = io.BytesIO()
    np.savez(content, spikes=random.random((20, 10, 6)) < 0.3, labels=np.arange(20) % 2)
    file = tmp_path / "from the lab.npz"
    file.write_bytes(content.getvalue())
    return file


def test_a_file_is_uploaded_checked_and_shown(page: Page, service: InProcess, npz: Path) -> None:
    page.open("/datasets")
    page.press("Choose a file")
    page.find("dialog input[type=file]").send_keys(str(npz))
    assert page.find("dialog input[name=name]").get_property("value") == "from-the-lab"
    page.press("Upload")
    page.until(lambda: page.address() == "/datasets/from-the-lab")
    page.until(lambda: page.texts(".histogram li") != [])
    facts = dict(zip(page.texts(".facts dt"), page.texts(".facts dd"), strict=True))
    assert (facts["Samples"], facts["Channels"], facts["Classes"]) == ("20", "6", "2")
    page.until(lambda: any("label" in text for text in page.texts(".sample .soft")))
    listed = service.user.get("/v1/datasets/from-the-lab").json()
    assert listed["versions"][0]["size"] == npz.stat().st_size


def test_a_file_that_is_no_data_set_is_refused_with_the_reason(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "wrong.npz"
    file.write_bytes(b"PK\x03\x04 not really")
    page.open("/datasets")
    page.press("Choose a file")
    page.find("dialog input[type=file]").send_keys(str(file))
    page.press("Upload")
    page.until(lambda: page.texts(".problem p") and page.texts(".problem p")[0])
