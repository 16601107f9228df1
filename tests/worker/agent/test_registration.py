"""An agent registers as soon as it can."""

from __future__ import annotations

import pytest

from ipulse_worker.agent.registration import registration as presence
from ipulse_worker.agent.settings import AgentSettings
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
