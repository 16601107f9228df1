"""The page of one job: its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.agents import PHASES, phase
from tests.service.running import SPEC, InProcess

from .conftest import Page

pytestmark = pytest.mark.browser


def test_all_files_are_downloaded(page: Page, service: InProcess, tmp_path: Path) -> None:
    files = {"manifest.json": "manifest", "weights.npz": "weights", "report.html": "report"}
    job_id = service.submit({**SPEC, "name": "with files"})["id"]
    attempt = service.attempt(job_id)
    attempt.report(*map(phase, PHASES))
    for name, role in files.items():
        attempt.put(name, role)
    assert attempt.finish("completed").status_code == 200
    stored = service.user.get(f"/v1/jobs/{job_id}/artifacts").json()["artifacts"]
    assert {file["name"] for file in stored} == set(files)
    behavior = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
    page.open(f"/jobs/{job_id}/files")
    page.until(lambda: [b for b in page.all("button") if b.text.startswith("Download all")])
    [button] = [b for b in page.all("button") if b.text.startswith("Download all")]
    button.click()
    sizes = {file["name"]: file["size"] for file in stored}

    def arrived() -> bool:
        files = [tmp_path / name for name in sizes]
        return all(file.exists() and file.stat().st_size == sizes[file.name] for file in files)

    page.until(arrived)
