from __future__ import annotations

from pathlib import Path

import pytest
from kombu.utils.url import parse_url
from pydantic import ValidationError
from sqlalchemy import make_url

from ipulse_core.errors import Unavailable
from ipulse_core.messages import MIN_TOKEN_LENGTH
from ipulse_service.http.auth import Tokens
from ipulse_service.settings import Settings


def test_all_paths_are_in_the_home_by_default(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, artifacts_dir=tmp_path / "elsewhere")
    assert settings.database_url == f"sqlite:///{tmp_path}/ipulse.db"
    assert settings.broker_url == f"redis+socket://{tmp_path}/redis/redis.sock"
    assert settings.token_file == tmp_path / "token"
    assert settings.artifacts_dir == tmp_path / "elsewhere"


def test_a_home_is_itself_whatever_it_is_called(tmp_path: Path) -> None:
    home = tmp_path / "-a büro %41 [#1]?"
    settings = Settings(home=home)
    assert make_url(settings.database_url).database == str(home / "ipulse.db")
    socket = parse_url(settings.broker_url.partition("+")[2])["virtual_host"]
    assert f"/{socket}" == str(home / "redis" / "redis.sock")


def test_the_environment_is_read(tmp_path: Path) -> None:
    environment = {
        "IPULSE_HOME": str(tmp_path),
        "IPULSE_PORT": "0",
        "IPULSE_ALLOWED_HOSTS": "Service, localhost",
        "IPULSE_SERVICE_URL": "http://for-an-agent",
        "HOME": "/root",
    }
    settings = Settings.from_environment(environment)
    assert settings.home == tmp_path
    assert settings.port == 0
    assert settings.allowed_hosts == ("service", "localhost")


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"host": "192.0.2.1"}, "IPULSE_ALLOW_REMOTE"),
        ({"heartbeat_seconds": 40.0}, "shorter than lease_seconds"),
        ({"max_attempts": 0}, "greater than or equal to 1"),
        ({"broker_url": "amqp://localhost"}, "redis://"),
        ({"port": 65536}, "less than or equal to 65535"),
    ],
)
def test_what_cannot_work_is_refused_with_the_hint(
    wrong: dict[str, object], hint: str, tmp_path: Path
) -> None:
    with pytest.raises(ValidationError, match=hint):
        Settings.model_validate({"home": tmp_path, **wrong})


def test_other_machines_are_answered_only_when_asked_for(tmp_path: Path) -> None:
    assert Settings(home=tmp_path, host="192.0.2.1", allow_remote=True).host == "192.0.2.1"


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (None, "ipulse up"),
        (b"", "shorter than"),
        (b"x" * (MIN_TOKEN_LENGTH - 1) + b"\n", "shorter than"),
        (b"\xff" * MIN_TOKEN_LENGTH, "not ASCII"),
    ],
)
def test_a_token_that_protects_nothing_is_refused(
    content: bytes | None, hint: str, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Unavailable, match=hint):
        Tokens.read(Settings(home=tmp_path))
