"""Wake-ups reach Redis whatever happens to it."""

from __future__ import annotations

import base64
import json
import socket
import time
from functools import partial
from pathlib import Path

import pytest
import redis
from sqlalchemy import func, select

from ipulse.stack.program_log import ProgramLog
from ipulse.stack.redis_server import RedisServer
from ipulse_core import messages
from ipulse_service.background import celery_queue, publisher
from ipulse_service.db import tables
from ipulse_service.settings import Settings
from tests.service.conditions import eventually
from tests.service.running import InProcess, settings_for

QUEUE = messages.queue_of("cpu")


@pytest.fixture
def settings(home: Path, redis_server: RedisServer, broker: redis.Redis) -> Settings:
    return settings_for(home, redis_server.url, rescan_seconds=0.1)


def published(broker: redis.Redis) -> list[str]:
    """The job ids of the messages that wait, the newest first."""
    job_ids = []
    for text in broker.lrange(QUEUE, 0, -1):
        message = json.loads(text)
        assert message["headers"]["task"] == messages.TASK
        arguments, keywords, _ = json.loads(base64.b64decode(message["body"]))
        [job_id] = arguments
        assert keywords == {}
        job_ids.append(job_id)
    return job_ids


def is_published(broker: redis.Redis, job_id: str) -> bool:
    return job_id in published(broker)


def promised(service: InProcess) -> int:
    """How many wake-ups are still in the outbox."""
    with service.database.read() as transaction:
        query = select(func.count()).select_from(tables.outbox)
        return int(transaction.connection.execute(query).scalar_one())


def submit(service: InProcess, broker: redis.Redis, count: int) -> list[str]:
    """Submits jobs and returns once all are published, by those who promised it.

    Where that took longer than the patience of a rescan, some are published twice.
    """
    jobs = [service.submit()["id"] for _ in range(count)]
    eventually(lambda: set(jobs) <= set(published(broker)) and promised(service) == 0)
    return jobs


def count_looks(service: InProcess, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by what each look at the broker finds."""
    looks: list[int] = []
    queue = service.state.publisher._queue
    look = queue.waiting

    def noted(device: str) -> int:
        looks.append(look(device))
        return looks[-1]

    monkeypatch.setattr(queue, "waiting", noted)
    return looks


def test_a_message_contains_only_the_job_id(settings: Settings, broker: redis.Redis) -> None:
    with InProcess(settings) as service:
        jobs = submit(service, broker, 3)
        assert list(dict.fromkeys(reversed(published(broker)))) == jobs


def test_what_redis_forgot_is_published_again(settings: Settings, broker: redis.Redis) -> None:
    with InProcess(settings) as service:
        jobs = submit(service, broker, 3)
        broker.flushall()
        eventually(lambda: set(published(broker)) == set(jobs))


def test_messages_do_not_pile_up_while_every_agent_is_busy(
    settings: Settings, broker: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    with InProcess(settings) as service:
        jobs = submit(service, broker, 3)
        waiting = published(broker)
        service.user.post(f"/v1/jobs/{jobs[0]}/cancel")  # and its message is one too many
        looks = count_looks(service, monkeypatch)
        eventually(lambda: len(looks) >= 3)
        assert published(broker) == waiting


def test_a_job_that_is_held_is_not_published_again(
    settings: Settings, broker: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    with InProcess(settings) as service:
        held, waits = submit(service, broker, 2)
        service.attempt(held)
        broker.flushall()
        eventually(lambda: published(broker) == [waits])
        looks = count_looks(service, monkeypatch)
        eventually(lambda: len(looks) >= 3)
        assert published(broker) == [waits]


def test_without_a_broker_jobs_are_accepted_and_published_later(home: Path, tmp_path: Path) -> None:
    directory = tmp_path / "redis"
    directory.mkdir(mode=0o700)
    server = RedisServer(directory, ProgramLog(tmp_path / "redis.log"))
    with InProcess(settings_for(home, server.url)) as service:
        for _ in range(2):  # the second time Redis was there and went away
            eventually(lambda: service.user.get("/readyz").status_code == 503)
            assert "broker" in service.user.get("/readyz").json()["detail"]
            accepted = service.submit()["id"]
            server.start()
            with redis.Redis(unix_socket_path=str(server.socket)) as broker:
                eventually(partial(is_published, broker, accepted))
            eventually(lambda: service.user.get("/readyz").status_code == 200)
            server.stop()


def test_a_broker_holds_only_so_many_messages_however_long_the_queue(
    settings: Settings, broker: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "MAX_WAITING", 3)
    with InProcess(settings) as service:
        jobs = {service.submit()["id"] for _ in range(8)}
        eventually(lambda: promised(service) == 0)
        looks = count_looks(service, monkeypatch)
        eventually(lambda: len(looks) >= 3)
        assert len(published(broker)) == 3
        begun: set[str] = set()
        while begun != jobs:  # an agent takes one message after the other
            message = eventually(lambda: broker.rpop(QUEUE))
            [job_id], _, _ = json.loads(base64.b64decode(json.loads(message)["body"]))
            answer = service.claim(job_id)
            if answer.status_code == 200:
                begun.add(answer.json()["job_id"])
        assert max(looks) <= 3


def test_a_hanging_broker_does_not_block_requests(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes connections and says nothing, as one behind a network that drops packets."""
    monkeypatch.setattr(celery_queue, "TIMEOUT_SECONDS", 0.2)
    path = tmp_path / "mute.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mute:
        mute.bind(str(path))
        mute.listen(64)
        with InProcess(settings_for(home, f"redis+socket://{path}", rescan_seconds=0.1)) as service:
            began = time.monotonic()
            jobs = {service.submit()["id"] for _ in range(5)}
            listed = service.user.get("/v1/jobs").json()["jobs"]
            assert {job["id"] for job in listed} == jobs
            assert time.monotonic() - began < 5.0
            refused = service.user.get("/readyz")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
            assert promised(service) == 5
