"""Events reach the service once and in order; a service that hangs blocks the runner."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ipulse_core.errors import StaleToken
from ipulse_core.events import LogEvent, MetricEvent, PhaseEvent
from ipulse_core.messages import EVENTS_PER_COMMIT
from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.uploads import event_reporter as module
from ipulse_worker.agent.uploads.event_reporter import EventReporter
from tests.worker.agent.fake_rules import DEADLINE
from tests.worker.agent.fake_service import FakeService


@pytest.fixture
def lease(service: FakeService, api: ServiceAPI) -> AttemptLease:
    return api.claim(service.submit("completes"), "host-1", ["cpu"], "f" * 40).lease


@pytest.fixture
def api(service: FakeService) -> Iterator[ServiceAPI]:
    api = ServiceAPI(service.url, service.token)
    yield api
    api.close()


class Callbacks:
    """Records the callbacks of a reporter."""

    def __init__(self) -> None:
        self.refusals: list[str] = []
        self.ended = threading.Event()

    def reporter(self, api: ServiceAPI, lease: AttemptLease) -> EventReporter:
        return EventReporter(api, lease, on_refusal=self.refusals.append, on_end=self.ended.set)


def log(number: int) -> LogEvent:
    return LogEvent(message=f"line {number}")


def sent(service: FakeService) -> int:
    return sum(path.endswith("/events") for _, path in service.requests)


def test_everything_is_sent_before_the_end_is_reported(
    service: FakeService, api: ServiceAPI, lease: AttemptLease
) -> None:
    callbacks = Callbacks()
    reporter = callbacks.reporter(api, lease)
    reporter.start()
    for number in range(1200):
        reporter.add(log(number))
    reporter.close()
    assert callbacks.ended.wait(DEADLINE)
    assert service.job("job_1").last.messages() == [f"line {number}" for number in range(1200)]


def test_large_events_travel_in_several_requests(
    service: FakeService, api: ServiceAPI, lease: AttemptLease
) -> None:
    callbacks = Callbacks()
    reporter = callbacks.reporter(api, lease)
    for _ in range(100):
        reporter.add(LogEvent(message="ü" * 16_384))
    for number in range(300):
        values = {f"figure/{index}": float(index) for index in range(200)}
        reporter.add(MetricEvent(epoch=1, epochs=1, step=number, steps=300, values=values))
    reporter.start()
    reporter.close()
    assert callbacks.ended.wait(DEADLINE)
    assert len(service.job("job_1").last.events) == 400
    assert 2 <= sent(service) < 20


def test_events_right_before_the_end_travel_with_the_outcome(
    service: FakeService, api: ServiceAPI, lease: AttemptLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pause in ("AT_ONCE_SECONDS", "LOG_SECONDS"):
        monkeypatch.setattr(module, pause, DEADLINE)
    callbacks = Callbacks()
    reporter = callbacks.reporter(api, lease)
    reporter.start()
    events = [PhaseEvent(phase) for phase in ("prepare", "compile", "acquire", "run", "report")]
    for event in events:
        reporter.add(event)
    reporter.expect_end()
    reporter.close(max_unsent=EVENTS_PER_COMMIT)
    assert callbacks.ended.wait(DEADLINE)
    assert reporter.unsent == (1, events)
    assert sent(service) == 0


def test_a_full_backlog_holds_the_next_event_back(
    service: FakeService, api: ServiceAPI, lease: AttemptLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BACKLOG_EVENTS", 5)
    may_answer = threading.Event()

    def hang(method: str, path: str) -> None:
        if path.endswith("/events"):
            service.changed.release()  # others may still speak to the service
            may_answer.wait(DEADLINE)
            service.changed.acquire()

    service.faults.append(hang)
    callbacks = Callbacks()
    reporter = callbacks.reporter(api, lease)
    reporter.start()
    added = threading.Semaphore(0)

    def add() -> None:
        for number in range(20):
            reporter.add(log(number))
            added.release()

    thread = threading.Thread(target=add)
    thread.start()
    assert all(added.acquire(timeout=DEADLINE) for _ in range(5))
    assert not added.acquire(timeout=0.3)
    may_answer.set()
    assert all(added.acquire(timeout=DEADLINE) for _ in range(15))
    thread.join(DEADLINE)
    reporter.close()
    assert callbacks.ended.wait(DEADLINE)
    assert len(service.job("job_1").last.events) == 20


def test_a_lost_lease_frees_blocked_threads(
    service: FakeService, api: ServiceAPI, lease: AttemptLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BACKLOG_EVENTS", 1)
    reporter = Callbacks().reporter(api, lease)  # not started: nothing leaves the backlog
    reporter.add(log(1))
    thread = threading.Thread(target=lambda: reporter.add(log(2)))
    thread.start()
    lease.lose(StaleToken())
    thread.join(DEADLINE)
    assert not thread.is_alive()


def test_a_refusal_is_reported_and_ends_it(
    service: FakeService, api: ServiceAPI, lease: AttemptLease
) -> None:
    callbacks = Callbacks()
    reporter = callbacks.reporter(api, lease)
    reporter.start()
    reporter.add(PhaseEvent("run"))
    reporter.add(PhaseEvent("prepare"))  # no job goes back there
    assert callbacks.ended.wait(DEADLINE)
    assert len(callbacks.refusals) == 1
    assert "running cannot become preparing" in callbacks.refusals[0]
    reporter.add(log(1))  # dropped, and nobody blocks
    assert not lease.is_lost


def test_lost_events_of_the_service_never_fail_the_job(
    service: FakeService, api: ServiceAPI, lease: AttemptLease
) -> None:
    """The database was restored from an older copy: another attempt starts."""
    callbacks = Callbacks()
    reporter = callbacks.reporter(api, lease)
    reporter.start()
    for number in range(3):
        reporter.add(log(number))
    service.wait_for(lambda: len(service.job("job_1").last.events) == 3)
    with service.changed:
        service.job("job_1").last.events.clear()
    reporter.add(log(3))
    assert lease.wait_for_loss(DEADLINE)
    assert callbacks.refusals == []
