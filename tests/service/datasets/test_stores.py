"""Data sets in other stores: a bucket, and a disk that fills."""

from __future__ import annotations

import secrets
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from ipulse.stack.redis_server import RedisServer
from ipulse_core.errors import Unavailable
from ipulse_service.background import dataset_checker
from ipulse_service.datasets.facts import DatasetCheck
from ipulse_service.files import partial_upload
from ipulse_service.reading.isolation import Isolation
from tests.service.datasets.files import spikes
from tests.service.datasets.uploading import announce, check_refused, push, send, upload
from tests.service.running import InProcess, settings_for
from tests.worker.disks import small_disk


def test_a_bucket(redis_server: RedisServer, home: Path, s3_settings: dict[str, Any]) -> None:
    content = spikes()
    with InProcess(settings_for(home, redis_server.url, **s3_settings)) as service:
        version = push(service, content)
        assert version["state"] == "ready"
        place = f"/v1/datasets/{version['dataset']}/versions/1/content"
        moved = service.user.get(place)
        assert moved.status_code == 307
        assert httpx.get(moved.headers["location"]).content == content
        assert list((home / "artifacts" / "spool").iterdir()) == []
        assert service.user.delete(f"/v1/datasets/{version['dataset']}").status_code == 204
        assert httpx.get(moved.headers["location"]).status_code in (403, 404)


def test_a_full_disk_is_said_and_passes(
    redis_server: RedisServer, home: Path, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "small", "size=4m,mode=0700") as disk:
        settings = settings_for(home, redis_server.url, artifacts_dir=disk / "artifacts")
        with InProcess(settings) as service:
            large = secrets.token_bytes(6_000_000)
            upload_id = announce(service, large).json()["id"]
            response = send(service, upload_id, large)
            check_refused(response, 503, "artifact_store")
            assert "free some space" in response.json()["detail"]
            assert push(service, spikes())["state"] == "ready"


def test_a_check_that_is_killed_again_and_again_holds_up_no_other(
    redis_server: RedisServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, check = secrets.token_bytes(3000), dataset_checker.checking.check

    def kill_large(isolation: Isolation, path: Path, *rest: Any) -> DatasetCheck:
        if path.read_bytes() == large:
            return DatasetCheck(trouble="the check was killed")
        return check(isolation, path, *rest)

    monkeypatch.setattr(dataset_checker.checking, "check", kill_large)
    monkeypatch.setattr(dataset_checker, "RETRY_SECONDS", 0.01)
    with InProcess(settings_for(home, redis_server.url)) as service:
        body = {"upload_id": upload(service, large)}
        first = service.user.post("/v1/datasets/large/versions", json=body)
        assert first.json()["state"] == "checking"
        assert push(service, spikes())["state"] == "ready"


def test_a_check_that_is_killed_every_time_is_given_up(
    redis_server: RedisServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = []

    def kill(_isolation: Isolation, path: Path, *rest: Any) -> DatasetCheck:
        killed.append(path)
        return DatasetCheck(trouble="the check was killed")

    monkeypatch.setattr(dataset_checker.checking, "check", kill)
    # Claims expire at once, so that a second thread would count checks beside those of the first.
    monkeypatch.setattr(dataset_checker, "AT_ONCE", 1)
    monkeypatch.setattr(dataset_checker, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(dataset_checker, "RESCAN_SECONDS", 0.01)
    monkeypatch.setattr(dataset_checker.versions, "CLAIM_MS", 0)
    with InProcess(settings_for(home, redis_server.url)) as service:
        content = secrets.token_bytes(3000)
        version = push(service, content, name="large")
        assert (version["state"], len(killed)) == ("refused", dataset_checker.versions.MAX_CHECKS)
        assert "killed" in version["refusal"]
        monkeypatch.undo()
        assert push(service, spikes(), name="large")["version"] == 2


def test_a_store_that_fails_does_not_refuse_the_data(
    redis_server: RedisServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = 2 * dataset_checker.versions.MAX_CHECKS
    left = [Unavailable("the store does not answer")] * failures
    monkeypatch.setattr(dataset_checker, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(dataset_checker.versions, "CLAIM_MS", 0)
    with InProcess(settings_for(home, redis_server.url)) as service:
        as_file = service.state.blobs.as_file

        def fail(sha256: str) -> AbstractContextManager[Path]:
            if left:
                raise left.pop()
            return as_file(sha256)

        monkeypatch.setattr(service.state.blobs, "as_file", fail)
        assert push(service, spikes())["state"] == "ready"
        assert not left


def test_housekeeping_forgets_what_was_begun(
    redis_server: RedisServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with InProcess(settings_for(home, redis_server.url)) as service:
        kept = push(service, spikes())
        begun = announce(service, secrets.token_bytes(5000)).json()["id"]
        send(service, begun, bytes(100))
        unused = upload(service, secrets.token_bytes(300))
        day = partial_upload.ABANDONED_SECONDS
        now = time.time()
        monkeypatch.setattr(partial_upload.time, "time", lambda: now + 2 * day)
        monkeypatch.setattr("ipulse_service.files.blobs.time.time", lambda: now + 2 * day)
        with service.database.write() as transaction:
            from sqlalchemy import update

            from ipulse_service.db.tables import uploads

            transaction.connection.execute(update(uploads).values(expires_at=transaction.now))
        service.state.housekeeper.clean_up()
        for upload_id in (begun, unused):
            check_refused(service.user.get(f"/v1/uploads/{upload_id}"), 404, "not_found")
        files = [path.name for path in (home / "artifacts").rglob("*") if path.is_file()]
        assert files == [kept["sha256"]]
