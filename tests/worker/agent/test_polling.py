"""An agent without a broker asks the service for work, in every weather."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from ipulse.stack.agent_process import EXIT_REFUSED
from ipulse_core.states import JobState, Reason
from ipulse_worker.agent import polling
from ipulse_worker.agent.agent import Agent
from ipulse_worker.agent.polling import EXIT_OK, WorkPoller
from ipulse_worker.agent.service_responses import ServiceUnavailable
from ipulse_worker.agent.service_types import AgentHint
from ipulse_worker.agent.settings import AgentSettings

from .conftest import agent_with
from .fake_handler import HANG_UP
from .fake_rules import DEADLINE
from .fake_service import FakeService


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(polling, "LONGEST_PAUSE", 0.2)


@contextmanager
def polls(agent: Agent) -> Iterator[list[int]]:
    """Yield the exit code, once there is one; the poller stops with the context."""
    codes: list[int] = []
    ended = threading.Event()

    def on_end() -> None:
        codes.append(poller.exit_code)
        ended.set()

    poller = WorkPoller(agent, on_end)
    poller.start()
    yield codes
    poller.stop()
    assert ended.wait(DEADLINE)


def succeeds(service: FakeService, job_id: str) -> None:
    service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)


def test_it_runs_what_waits_and_what_comes_later(service: FakeService, agent: Agent) -> None:
    first = service.submit("completes")
    with polls(agent) as codes:
        succeeds(service, first)
        succeeds(service, service.submit("completes"))
    assert codes == [EXIT_OK]


def test_it_outlives_a_service_that_is_away(service: FakeService, agent: Agent) -> None:
    with polls(agent) as codes:
        service.hang_up()
        job_id = service.submit("completes")
        service.listen()
        succeeds(service, job_id)
    assert codes == [EXIT_OK]


@pytest.mark.parametrize("status", [HANG_UP, 429, 500, 502, 404])
def test_it_outlives_answers_that_are_none(service: FakeService, agent: Agent, status: int) -> None:
    service.fail("wakeups", status, times=3)
    job_id = service.submit("completes")
    with polls(agent):
        succeeds(service, job_id)


def test_a_job_that_could_not_be_claimed_is_tried_again_without_another_hint(
    service: FakeService, agent: Agent
) -> None:
    service.fail("claims", 409)
    job_id = service.submit("completes")
    with polls(agent):
        succeeds(service, job_id)
    assert len(service.job(job_id).attempts) == 1


def test_a_token_that_is_refused_ends_it(service: FakeService, agent: Agent) -> None:
    service.token = "another-token-another-token-another"  # noqa: S105 - of a test
    with polls(agent) as codes:
        service.wait_for(lambda: codes)
        assert codes == [EXIT_REFUSED]


def test_a_wait_ends_with_a_quarantine(service: FakeService, settings: AgentSettings) -> None:
    with agent_with(settings, quarantine_seconds=20.0) as agent:
        agent.wait_for_work("", 50)
        agent.quarantine.record("cpu", Reason.PARTITION_RESET)
        agent.wait_for_work("", 50)
    assert service.waits == ["wait=50", "wait=20"]


def test_a_faulty_machine_is_not_logged_again_and_again(
    service: FakeService,
    agent: Agent,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    paused = threading.Semaphore(0)

    def pause(_seconds: float) -> bool:
        paused.release()
        return False

    monkeypatch.setattr(agent, "_pause", pause)
    service.fail("claims", 409, times=1000)
    service.submit("completes")
    with polls(agent):
        service.wait_for(lambda: ("POST", "/v1/worker/claims") in service.requests)
        agent.quarantine.record("cpu", Reason.WORKER_DISK_FULL, "the disk is full")
        for _ in range(5):
            assert paused.acquire(timeout=DEADLINE)
    assert [record.message for record in caplog.records].count("job_not_claimed") <= 1


class Scripted:
    """Stands for an agent: each wait does what the test says."""

    def __init__(self, *waits: Callable[[], AgentHint | None]) -> None:
        self.waits = list(waits)
        self.asked: list[tuple[float, int]] = []  # when, and for how many seconds
        self.done = threading.Event()

    def wait_for_work(self, tag: str, wait_seconds: int) -> AgentHint | None:
        self.asked.append((time.monotonic(), wait_seconds))
        if not self.waits:
            self.done.set()
            return AgentHint(None, False, "tag")
        return self.waits.pop(0)()

    def run_job(self, job_id: str) -> bool:
        raise AssertionError("there is no job")

    def poll(self) -> None:
        poller = WorkPoller(cast(Any, self))
        poller.start()
        assert self.done.wait(DEADLINE)
        poller.stop()


def test_something_that_answers_at_once_is_not_asked_without_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(polling, "FIRST_PAUSE", 0.3)
    agent = Scripted(lambda: None, lambda: None)
    agent.poll()
    (first, _), (second, _), (third, _) = agent.asked[:3]
    shortest = 0.3 * (1 - polling.JITTER)
    assert second - first >= shortest
    assert third - second >= shortest


def test_waits_become_shorter_where_something_cuts_long_ones() -> None:
    def is_cut() -> None:
        time.sleep(polling.FIRST_PAUSE * 2)
        raise ServiceUnavailable("a proxy ended the connection")

    agent = Scripted(*[is_cut] * 6)
    agent.poll()
    waits = [seconds for _, seconds in agent.asked]
    assert polling.LONGEST_WAIT * (1 - polling.JITTER) - 1 <= waits[0] <= polling.LONGEST_WAIT
    assert waits[1] <= polling.LONGEST_WAIT / 2
    assert waits[-1] in (4, 5)


def test_pauses_after_failures_grow_to_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "LONGEST_PAUSE", 0.1)

    def fails() -> None:
        raise ServiceUnavailable("it is away", retry_after=30.0)

    agent = Scripted(*[fails] * 4)
    agent.poll()
    times = [at for at, _ in agent.asked]
    gaps = [later - earlier for earlier, later in zip(times, times[1:4], strict=False)]
    assert all(gap >= 0.1 * (1 - polling.JITTER) for gap in gaps)
    assert agent.done.is_set()  # it did not wait for the 30 s that were asked for
