"""An agent registers as soon as it can."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipulse.stack.agent_home import Membership
from ipulse_worker.agent.registration import registration as presence
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
