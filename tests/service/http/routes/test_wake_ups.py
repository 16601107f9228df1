"""An agent of another machine learns by long polling that a job waits."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.agents import Attempt
from tests.service.conditions import eventually
from tests.service.joined import client, joined
from tests.service.running import InProcess, settings_for

pytestmark = pytest.mark.postgresql

NO_BROKER = "redis://127.0.0.1:1/0"
LONG = 40  # seconds: an answer that takes so long has not noticed anything


class Poller:
    """A joined agent that asks for work."""

    def __init__(self, service: InProcess) -> None:
        self.name, token = joined(service)
        self.http = client(service, token)
        self.etag = ""

    def ask(self, wait: int = 0, **query: Any) -> httpx.Response:
        headers = {"prefer": f"wait={wait}"}
        if self.etag:
            headers["if-none-match"] = self.etag
        query = {"agent": self.name, "kind": "cpu", **query}
        response = self.http.get("/v1/worker/wakeups", params=query, headers=headers)
        self.etag = response.headers.get("etag", self.etag)
        return response

    def claim(self, job_id: str) -> Attempt:
        body = {"job_id": job_id, "agent": self.name, "device_kinds": ["cpu"]}
        response = self.http.post("/v1/worker/claims", json=body)
        assert response.status_code == 200, response.text
        return Attempt(self.http, response.json())

    def in_background(self) -> tuple[threading.Thread, list[httpx.Response]]:
        answers: list[httpx.Response] = []
        thread = threading.Thread(target=lambda: answers.append(self.ask(LONG)))
        thread.start()
        return thread, answers


@pytest.fixture
def poller(alone: InProcess) -> Iterator[Poller]:
    made = Poller(alone)
    yield made
    made.http.close()


def test_a_job_wakes_an_agent_that_waits(alone: InProcess, poller: Poller) -> None:
    assert poller.ask().json() == {"job_id": None, "draining": False}
    assert poller.ask().status_code == 304
    thread, answers = poller.in_background()
    eventually(lambda: alone.state.notifier.is_watched("queue"))
    job_id = alone.submit()["id"]
    thread.join()
    assert answers[0].json() == {"job_id": job_id, "draining": False}
    assert answers[0].elapsed.total_seconds() < LONG


def test_a_waiting_job_is_sent_at_once_and_only_once(alone: InProcess, poller: Poller) -> None:
    job_id = alone.submit()["id"]
    assert poller.ask(LONG).json()["job_id"] == job_id
    assert poller.ask().status_code == 304
    alone.attempt(job_id)
    assert poller.ask(LONG).json()["job_id"] is None


def test_a_job_for_another_kind_of_device_does_not_concern_it(
    alone: InProcess, poller: Poller
) -> None:
    alone.submit()
    assert poller.ask(kind="ipu").json()["job_id"] is None
    poller.etag = ""
    assert poller.ask(kind=["ipu", "cpu"]).json()["job_id"] is not None


def test_a_job_that_another_replica_accepted_wakes_it(alone: InProcess, poller: Poller) -> None:
    poller.ask()
    thread, answers = poller.in_background()
    eventually(lambda: alone.state.notifier.is_watched("queue"))
    alone.database.wake_up_listeners.clear()  # as if another process had made the commit
    job_id = alone.submit()["id"]
    thread.join()
    assert answers[0].json()["job_id"] == job_id


def test_n15_without_a_broker_a_job_is_claimed_within_two_seconds(
    tmp_path: Path, request: pytest.FixtureRequest, database_settings: dict[str, Any]
) -> None:
    """At the median; the job is in the answer of the request that waited for it."""
    database = dict(database_settings)
    if database:
        database["database_url"] = request.getfixturevalue("postgresql_server").new_database()
    with InProcess(settings_for(tmp_path / "home", NO_BROKER, **database)) as service:
        assert service.user.get("/readyz").status_code == 503
        poller = Poller(service)
        seconds = []
        for _ in range(5):
            poller.ask()
            thread, answers = poller.in_background()
            eventually(lambda: service.state.notifier.is_watched("queue"))
            began = time.monotonic()
            job_id = service.submit()["id"]
            thread.join()
            assert answers[0].json()["job_id"] == job_id
            attempt = poller.claim(job_id)
            seconds.append(time.monotonic() - began)
            attempt.complete()
        poller.http.close()
    assert statistics.median(seconds) <= 2, seconds


def test_the_end_of_its_token_ends_the_wait(alone: InProcess, poller: Poller) -> None:
    poller.ask()
    thread, answers = poller.in_background()
    eventually(lambda: alone.state.notifier.is_watched("queue"))
    [token] = alone.user.get("/v1/tokens").json()["tokens"]
    alone.user.delete(f"/v1/tokens/{token['id']}")
    thread.join()
    assert answers[0].status_code == 401


@pytest.mark.parametrize("query", [{"agent": ""}, {"agent": "x" * 129}, {"kind": ["cpu"] * 17}])
def test_a_wrong_query_is_refused(poller: Poller, query: dict[str, Any]) -> None:
    assert poller.ask(**query).status_code == 400
