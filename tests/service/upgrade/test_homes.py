"""Homes of earlier versions open with this one: nothing is lost, and every job continues."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ipulse.client import Connection
from ipulse.stack.redis_server import RedisServer
from ipulse.stack.stack import Stack
from tests.service.conditions import eventually
from tests.service.postgresql_server import PostgreSQLServer
from tests.service.running import InProcess, settings_for
from tests.service.upgrade.stored_homes import ARCHIVES, StoredHome, take

CUT_OFF = ("queued", "running", "paused")


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def stored(
    request: pytest.FixtureRequest, tmp_path: Path, postgresql_server: PostgreSQLServer
) -> StoredHome:
    return take(request.param, tmp_path / "home", postgresql_server)


def opened(stored: StoredHome, redis_server: RedisServer, lease_seconds: float) -> InProcess:
    """Returns a service of this version on a stored home, which is not started yet."""
    bounds = {
        "lease_seconds": lease_seconds,
        "heartbeat_seconds": lease_seconds / 3,
        "retry_seconds": 0.02,
    }
    return InProcess(settings_for(stored.folder, redis_server.url, **bounds, **stored.settings))


def test_there_is_an_archive_of_every_version_in_both_databases() -> None:
    names = {path.name.partition(".")[0] for path in ARCHIVES}
    commits = {name.partition("-")[0] for name in names}
    # 0.1.0, 0.2.0, three before 0.3.0 (one with an edited revision, the last before version 2 and
    # people), and 0.3.0.
    assert commits >= {"b0ff37ee", "ca970c3f", "7f2a3212", "b738df70", "be9abec7", "908a85bb"}
    assert names == {f"{commit}-{kind}" for commit in commits for kind in ("sqlite", "postgresql")}


def test_every_job_is_there_and_goes_on(stored: StoredHome, redis_server: RedisServer) -> None:
    with opened(stored, redis_server, lease_seconds=0.5) as service:
        check_jobs(stored, service)
        resumed = service.user.post(f"/v1/jobs/{stored.job('paused')['id']}/resume")
        assert resumed.status_code == 200, resumed.text
        # The agent is gone, and the lease lasts for its whole length after the start.
        running = stored.job("running")["id"]
        eventually(lambda: service.job(running)["state"] == "queued")
    with opened(stored, redis_server, lease_seconds=600.0) as service:
        for state in CUT_OFF:
            attempt = service.attempt(stored.job(state)["id"])
            assert (attempt.claim["checkpoint"] is not None) == (state != "queued")
            assert attempt.complete()["state"] == "succeeded"
        assert service.attempt(service.submit()["id"]).complete()["state"] == "succeeded"


def check_jobs(stored: StoredHome, service: InProcess) -> None:
    """Checks that all jobs are as they were, with events and files, and that keys find them."""
    listed = {job["id"]: job["state"] for job in service.user.get("/v1/jobs").json()["jobs"]}
    # The lease of the one that ran may have ended by now.
    running = stored.job("running")["id"]
    assert listed.pop(running) in ("running", "retry_wait", "queued")
    assert listed == {job["id"]: job["state"] for job in stored.jobs if job["id"] != running}
    downloaded = 0
    for job in stored.jobs:
        headers = {"idempotency-key": job["key"]}
        again = service.user.post("/v1/jobs", json=job["spec"], headers=headers)
        assert (again.status_code, again.json()["id"]) == (202, job["id"])
        assert again.headers["idempotency-replayed"] == "true"
        seqs = [event["seq"] for event in service.events(job["id"], limit=1000)["events"]]
        assert seqs == [*range(1, len(seqs) + 1)]
        files = service.user.get(f"/v1/jobs/{job['id']}/artifacts").json()["artifacts"]
        for file in files:
            path = f"/v1/jobs/{job['id']}/artifacts/{file['id']}/content"
            content = service.user.get(path).content
            assert hashlib.sha256(content).hexdigest() == file["sha256"]
            downloaded += 1
    assert downloaded > 4


@pytest.mark.verify
def test_an_agent_of_this_version_trains_them_to_the_end(stored: StoredHome) -> None:
    with Stack(stored.folder, **stored.settings) as stack:
        token = stack.token_path.read_text().strip()
        with Connection(stack.url, token) as client:
            client.job(stored.job("paused")["id"]).resume()
            for state in CUT_OFF:
                job = client.job(stored.job(state)["id"]).wait(timeout=300, check=False)
                assert job.state == "succeeded", job.message
                assert any(file.role == "weights" for file in client.job(job.id).artifacts())
