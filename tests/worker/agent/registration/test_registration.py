"""An agent registers as soon as it can."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from ipulse.stack.agent_home import Membership
from ipulse_worker.agent.registration import registration as presence
from ipulse_worker.agent.registration.host_check import HostCheck
from ipulse_worker.agent.registration.quarantine import Quarantine
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_types import AgentOrders
from ipulse_worker.agent.settings import AgentSettings
from tests.service.conditions import eventually
from tests.worker.agent.conftest import agent_with
from tests.worker.agent.fake_handler import HANG_UP
from tests.worker.agent.fake_rules import DEADLINE
from tests.worker.agent.fake_service import FakeService


def test_a_registration_that_failed_is_soon_repeated(
    service: FakeService, settings: AgentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "RETRY_SECONDS", 10 * DEADLINE)
    paths: list[str] = []

    def away_at_first(_method: str, path: str) -> int | None:
        paths.append(path)
        return HANG_UP if paths.count("/v1/worker/agents") == 1 else None

    service.faults.append(away_at_first)
    with agent_with(settings):
        service.wait_for(lambda: paths.count("/v1/worker/agents") == 2)


def test_a_renewed_token_is_stored_and_used(
    service: FakeService, settings: AgentSettings, tmp_path: Path
) -> None:
    former = service.token
    path = tmp_path / "agent.json"
    Membership(service.url, settings.name, former).write(path)
    service.orders = {"renew_token": True}
    with agent_with(settings, membership_file=path) as agent:
        eventually(lambda: Membership.read(path).token != former)
        job_id = service.submit("completes")
        eventually(lambda: agent.run_job(job_id))
    assert Membership.read(path).token == service.token
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_expired_token_is_renewed_once_by_all_threads(
    service: FakeService, settings: AgentSettings, tmp_path: Path
) -> None:
    path = tmp_path / "agent.json"
    Membership(service.url, settings.name, service.token).write(path)
    service.expired_token = service.token
    job_id = service.submit("completes")
    with agent_with(settings, membership_file=path) as agent:
        assert agent.run_job(job_id)
        service.wait_for(lambda: service.registrations)
    assert [path for _, path in service.requests].count("/v1/worker/token") == 1
    assert Membership.read(path).token == service.token


def test_an_agent_that_stops_signs_off_and_does_not_register_again(
    service: FakeService, settings: AgentSettings
) -> None:
    with agent_with(settings):
        service.wait_for(lambda: service.registrations)
    assert service.sign_offs == [settings.name]


def test_a_registration_under_way_comes_before_the_sign_off(
    service: FakeService, settings: AgentSettings
) -> None:
    order: list[str] = []
    begun, proceed = threading.Event(), threading.Event()

    def note(_method: str, path: str) -> None:
        order.append(path)

    service.faults.append(note)

    class SlowAPI(ServiceAPI):
        def register(self, *args: Any, **more: Any) -> AgentOrders:
            begun.set()
            proceed.wait(DEADLINE)
            return super().register(*args, **more)

    api = SlowAPI(settings.service_url, settings.worker_token)
    host = HostCheck(settings.work_dir, 1, 60)
    quarantine = Quarantine(settings.device_kinds, 60, host)
    registration = presence.Registration(api, settings, quarantine, host, lambda _orders: None)
    registration.start()
    assert begun.wait(DEADLINE)
    ending = threading.Thread(target=registration.end)
    ending.start()
    proceed.set()
    ending.join(DEADLINE)
    api.close()
    assert order == ["/v1/worker/agents", "/v1/worker/sign-off"]


def test_a_service_that_is_away_does_not_keep_an_agent_from_stopping(
    service: FakeService, settings: AgentSettings
) -> None:
    with agent_with(settings):
        service.wait_for(lambda: service.registrations)
        service.is_down = True
    assert service.sign_offs == []
