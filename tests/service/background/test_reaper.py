"""The reaper ends lost attempts, and gives agents time after the service was away."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from ipulse.stack.redis_server import RedisServer
from ipulse_service.background import reaper
from ipulse_service.settings import Settings
from tests.service.running import InProcess, settings_for


@pytest.fixture
def settings(home: Path, redis_server: RedisServer, broker: redis.Redis) -> Settings:
    return settings_for(home, redis_server.url, rescan_seconds=0.1)


def test_an_agent_that_could_not_reach_a_stopped_service_keeps_its_job(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaper, "GRACE_SECONDS", settings.lease_seconds)  # on any machine
    with InProcess(settings) as service:
        attempt = service.attempt(service.submit()["id"])
        service.expire_leases()
    with InProcess(settings) as service:
        headers = {"ipulse-fence": attempt.fence}
        response = service.worker.post(f"{attempt.path}/heartbeat", json={}, headers=headers)
        assert response.status_code == 200
