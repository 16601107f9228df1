"""A caller that floods the service waits, then is refused; the others and agents are served."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from ipulse.stack.redis_server import RedisServer
from ipulse_service.db.engine import Transaction
from ipulse_service.http.server import lanes, request_rate
from ipulse_service.jobs.search import listing
from tests.service.conditions import eventually
from tests.service.running import SPEC, InProcess, settings_for

PER_SECOND, BURST = 10, 5
SENDERS = 16


@pytest.fixture
def service(
    home: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InProcess]:
    monkeypatch.setattr(request_rate, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(request_rate, "REFUSED_SECONDS", 0.1)
    rate = {"requests_per_second": PER_SECOND, "requests_burst": BURST}
    with InProcess(settings_for(home, redis_server.url, **rate)) as running:
        yield running


def with_token(service: InProcess, **of: str) -> httpx.Client:
    """A client with a new token."""
    request = {"name": "flood", "seconds": 600, **of}
    answer = service.user.post("/v1/tokens", json=request)
    assert answer.status_code == 201, answer.text
    client = service.client()
    client.headers["authorization"] = f"Bearer {answer.json()['token']}"
    return client


def test_a_flood_is_refused_and_others_are_served(service: InProcess) -> None:
    attempt = service.attempt(service.submit()["id"])
    with ExitStack() as closing:
        owners: list[dict[str, str]] = [{"role": "user"}, {"user": "flood"}]  # one account
        tokens = [closing.enter_context(with_token(service, **of)) for of in owners]

        def flood(number: int) -> list[httpx.Response]:
            return [tokens[number % 2].get("/v1/jobs") for _ in range(3)]

        threads = closing.enter_context(ThreadPoolExecutor(SENDERS))
        began = time.monotonic()
        flooding = [threads.submit(flood, number) for number in range(SENDERS)]
        # The flooder's requests are held or refused; nobody else's is.
        assert attempt.heartbeat().status_code == 200
        assert service.user.post("/v1/jobs", json=SPEC).status_code == 202
        answers = [answer for each in flooding for answer in each.result()]
        seconds = time.monotonic() - began
        statuses = Counter(answer.status_code for answer in answers)
        assert set(statuses) == {200, 429}
        # Together both tokens had the burst and the rate of their account.
        assert statuses[200] <= BURST + PER_SECOND * (seconds + 0.5) + 1
        for answer in answers:
            if answer.status_code == 429:
                assert answer.json()["code"] == "too_frequent"
                assert int(answer.headers["retry-after"]) > 0


def test_many_slow_requests_of_one_caller_leave_threads_to_others(
    service: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = listing.page
    may_end = threading.Event()
    reading = 0

    def slow(transaction: Transaction, *given: Any) -> Any:
        nonlocal reading
        if transaction.access.name == "flood":
            reading += 1
            assert may_end.wait(30)
        return read(transaction, *given)

    monkeypatch.setattr(listing, "page", slow)
    with with_token(service, role="user") as flooder, ThreadPoolExecutor(BURST) as threads:
        flooding = [threads.submit(flooder.get, "/v1/jobs") for _ in range(BURST)]
        eventually(lambda: reading == lanes.AT_ONCE)
        assert service.user.get("/v1/jobs").status_code == 200
        assert reading == lanes.AT_ONCE
        may_end.set()
        assert {each.result().status_code for each in flooding} == {200}


def test_a_script_that_sends_one_request_at_a_time_is_only_slowed(service: InProcess) -> None:
    began = time.monotonic()
    for _ in range(BURST + 5):
        assert service.user.get("/v1/jobs").status_code == 200
    assert time.monotonic() - began >= 4 / PER_SECOND


def test_agents_have_no_limit(service: InProcess) -> None:
    attempt = service.attempt(service.submit()["id"])
    with ThreadPoolExecutor(SENDERS) as threads:
        sent = [threads.submit(attempt.heartbeat) for _ in range(BURST + 2 * PER_SECOND)]
    assert {answer.result().status_code for answer in sent} == {200}
