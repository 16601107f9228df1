"""A bucket that does not answer for a while, behind a proxy that holds everything back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from ipulse.stack.redis_server import RedisServer
from ipulse_service.files.file_thread_pool import THREADS
from tests.service.agents import Attempt
from tests.service.conditions import eventually
from tests.service.conftest import LEASE_SECONDS
from tests.service.gated_proxy import GatedProxy
from tests.service.running import InProcess, settings_for

pytestmark = pytest.mark.postgresql

MANY = 42  # more than the server has threads to answer requests, and to move files
SCRIPT = {"sec-fetch-dest": "empty"}  # who may not be sent to the bucket


@pytest.fixture
def bucket(s3_settings: dict[str, Any]) -> Iterator[GatedProxy]:
    with GatedProxy(s3_settings["s3_endpoint_url"]) as proxy:
        yield proxy


@pytest.fixture
def service(
    redis_server: RedisServer,
    tmp_path_factory: pytest.TempPathFactory,
    s3_settings: dict[str, Any],
    bucket: GatedProxy,
    database_settings: dict[str, Any],
) -> Iterator[InProcess]:
    settings = {**s3_settings, "s3_endpoint_url": bucket.url, **database_settings}
    settings["lease_seconds"] = LEASE_SECONDS
    home = tmp_path_factory.mktemp("home")
    with InProcess(settings_for(home, redis_server.url, **settings)) as running:
        yield running


def is_not_held_up(service: InProcess, attempt: Attempt) -> None:
    """Whatever needs no file is answered; `client`'s patience is 30 s, the bucket's is 10."""
    assert service.job(attempt.claim["job_id"])["state"] == "preparing"
    assert service.user.get("/v1/jobs").status_code == 200
    assert service.submit()["state"] == "queued"
    assert attempt.heartbeat().status_code == 200
    assert attempt.report({"kind": "log", "message": "still here"}).status_code == 200


def content_of(number: int) -> bytes:
    return f"weights {number}".encode() * 1000


def test_files_that_wait_for_it_hold_up_nothing_else_and_none_is_lost(
    service: InProcess, bucket: GatedProxy
) -> None:
    attempt = service.attempt(service.submit()["id"])
    job = f"/v1/jobs/{attempt.claim['job_id']}"
    bucket.shut()
    with ThreadPoolExecutor(MANY) as agents:
        stored: list[Future[httpx.Response]] = [
            agents.submit(attempt.put, f"{i}.npz", "weights", content_of(i)) for i in range(MANY)
        ]
        eventually(lambda: len(bucket.waiting) >= THREADS)
        is_not_held_up(service, attempt)
        bucket.open()
        assert {answer.result().status_code for answer in stored} == {201}
    artifacts = service.user.get(f"{job}/artifacts").json()["artifacts"]
    assert sorted(file["name"] for file in artifacts) == sorted(f"{i}.npz" for i in range(MANY))
    bucket.shut()
    with ThreadPoolExecutor(MANY) as readers:
        paths = {file["name"]: f"{job}/artifacts/{file['id']}/content" for file in artifacts}
        read = {
            name: readers.submit(service.user.get, path, headers=SCRIPT)
            for name, path in paths.items()
        }
        eventually(lambda: len(bucket.waiting) >= THREADS)
        is_not_held_up(service, attempt)
        bucket.open()
        for i in range(MANY):
            assert read[f"{i}.npz"].result().content == content_of(i)


def test_a_readiness_check_does_not_block_others(service: InProcess, bucket: GatedProxy) -> None:
    attempt = service.attempt(service.submit()["id"])
    bucket.shut()
    with ThreadPoolExecutor(MANY) as asking:
        asked = [asking.submit(service.user.get, "/readyz") for _ in range(MANY)]
        eventually(lambda: bucket.waiting)
        is_not_held_up(service, attempt)
        bucket.open()
        assert {answer.result().status_code for answer in asked} <= {200, 503}
