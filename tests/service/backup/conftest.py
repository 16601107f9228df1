"""A home with one of everything, made once and copied for each test."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from ipulse.stack.redis_server import RedisServer
from ipulse_service.settings import Settings
from tests.service.agents import METRIC, phase
from tests.service.datasets.files import spikes
from tests.service.datasets.uploading import push
from tests.service.running import InProcess, settings_for
from tests.service.sweeps.sweeping import create


@dataclass(frozen=True)
class Stored:
    """A home whose service is stopped.

    Attributes:
        settings: Its settings.
        ended: Id of a job that has succeeded and left weights.
        queued: Id of a job that waits.
        sweep: Id of a sweep that runs.
        token: An issued token.
    """

    settings: Settings
    ended: str
    queued: str
    sweep: str
    token: str

    @property
    def home(self) -> Path:
        """The folder."""
        return self.settings.home

    def elsewhere(self, home: Path, **more: str) -> Settings:
        """Returns the settings of another home."""
        return settings_for(home, self.settings.broker_url, **more)


@pytest.fixture(scope="package")
def made_home(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Stored:
    home = tmp_path_factory.mktemp("made") / "home"
    home.mkdir(mode=0o700)
    settings = settings_for(home, redis_server.url, lease_seconds=600.0)
    with InProcess(settings) as service:
        ended = service.submit()["id"]
        attempt = service.attempt(ended)
        attempt.report(phase("prepare"), METRIC)
        attempt.put("weights", "weights", b"weights")
        assert attempt.complete()["state"] == "succeeded"
        push(service, spikes(samples=4), "mine")
        body = {"name": "a colleague", "role": "user", "seconds": 3600}
        token = service.user.post("/v1/tokens", json=body).json()["token"]
        sweep = create(service)["id"]
        queued = service.submit()["id"]
    return Stored(settings, ended, queued, sweep, token)


@pytest.fixture
def stored(made_home: Stored, tmp_path: Path) -> Stored:
    """A copy of the home for one test."""
    home = tmp_path / "home"
    shutil.copytree(made_home.home, home)
    settings = made_home.settings.model_copy(update={"home": home})
    again = Settings(
        **{**settings.model_dump(include={"broker_url", "lease_seconds", "port"}), "home": home}
    )
    return Stored(again, made_home.ended, made_home.queued, made_home.sweep, made_home.token)
