"""A service that stores its files in a bucket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Connection
from ipulse.stack.redis_server import RedisServer
from ipulse_service.files.s3 import S3Blobs
from tests.service.conditions import eventually
from tests.service.running import InProcess, settings_for

CONTENT = bytes(range(256)) * 2000


@pytest.fixture
def service(
    redis_server: RedisServer, home: Path, s3_settings: dict[str, Any]
) -> Iterator[InProcess]:
    with InProcess(settings_for(home, redis_server.url, **s3_settings)) as running:
        yield running


def test_a_reader_is_sent_to_the_bucket_without_the_token(service: InProcess) -> None:
    job_id = service.submit()["id"]
    attempt = service.attempt(job_id)
    attempt.put("weights.npz", "weights", CONTENT)
    attempt.complete()
    [weights, _] = service.user.get(f"/v1/jobs/{job_id}/artifacts").json()["artifacts"]
    path = f"/v1/jobs/{job_id}/artifacts/{weights['id']}/content"
    sent = service.user.get(path)
    assert sent.status_code == 307
    # A script of the page may not follow there.
    script = service.user.get(path, headers={"sec-fetch-dest": "empty"})
    assert (script.status_code, script.content) == (200, CONTENT)
    assert sent.headers["location"].startswith(service.settings.s3_endpoint_url or "")
    response = service.user.get(path, headers={"range": "bytes=5-9"}, follow_redirects=True)
    assert (response.status_code, response.content) == (206, CONTENT[5:10])
    assert "authorization" not in response.request.headers
    assert response.headers["content-disposition"] == 'attachment; filename="weights.npz"'
    assert service.user.head(path).headers["content-length"] == str(len(CONTENT))


def test_the_client_downloads_and_verifies(service: InProcess, tmp_path: Path) -> None:
    job_id = service.submit()["id"]
    attempt = service.attempt(job_id)
    attempt.put("weights.npz", "weights", CONTENT)
    attempt.complete()
    with Connection(service.url, token_file=service.settings.token_file) as client:
        client.job(job_id).download(tmp_path / "results", ["weights"])
    assert (tmp_path / "results" / "weights.npz").read_bytes() == CONTENT


def test_a_profile_is_read_here(service: InProcess) -> None:
    job_id = service.submit()["id"]
    attempt = service.attempt(job_id)
    attempt.put("profile.json", "profile", b'{"a": 1}')
    assert service.user.get(f"/v1/jobs/{job_id}/profile").json() == {"a": 1}


def test_a_checkpoint_that_was_replaced_and_a_job_that_was_deleted_leave_nothing(
    service: InProcess,
) -> None:
    job_id = service.submit()["id"]
    attempt = service.attempt(job_id)
    for content in (b"first", b"second"):
        assert attempt.put("c", "checkpoint", content).status_code == 201
    eventually(lambda: len(list(service.state.blobs.kept(0))) == 1)
    attempt.finish("diverged")
    assert service.user.delete(f"/v1/jobs/{job_id}").status_code == 204
    assert list(service.state.blobs.kept(0)) == []


def test_other_writers_do_not_wait_for_the_bucket(
    service: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = service.attempt(service.submit()["id"])
    store = service.state.blobs
    assert isinstance(store, S3Blobs)
    upload = store.client.upload_file
    answered = []

    def slow_upload(*options: Any) -> Any:
        answered.append(service.submit())  # would wait for a transaction that is open
        answered.append(attempt.heartbeat())  # would wait for the job's row
        return upload(*options)

    monkeypatch.setattr(store.client, "upload_file", slow_upload)
    assert attempt.put("weights.npz", "weights", CONTENT).status_code == 201
    assert len(answered) == 2
