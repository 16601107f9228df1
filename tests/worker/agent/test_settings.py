"""All wrong variables are reported at once, and no secret is shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ipulse_core.errors import InvalidInput, Unavailable
from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.supervision.runner_environment import runner_environment


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    token_file = tmp_path / "worker-token"
    token_file.write_text("0123456789abcdef" * 3 + "\n")
    return {
        "IPULSE_SERVICE_URL": "http://127.0.0.1:8470/",
        "IPULSE_WORKER_TOKEN_FILE": str(token_file),
        "IPULSE_BROKER_URL": "redis://:password@broker/0",
        "IPULSE_WORK_DIR": str(tmp_path / "work"),
        "PATH": "/usr/bin:/bin",
    }


def test_missing_settings_have_defaults(environment: dict[str, str], tmp_path: Path) -> None:
    settings = AgentSettings.from_environment(environment)
    assert settings.service_url == "http://127.0.0.1:8470"
    assert settings.worker_token == "0123456789abcdef" * 3
    assert settings.work_dir == tmp_path / "work"
    assert settings.runner_python == sys.executable
    assert settings.runner_module == "ipulse_worker.runner"
    assert settings.device_kinds == ("cpu", "emulator")
    assert settings.warm is True
    assert settings.grace_seconds == 10.0


def test_given_settings_are_used(environment: dict[str, str]) -> None:
    environment |= {"IPULSE_WARM": "0", "IPULSE_GRACE_SECONDS": "2.5", "IPULSE_RUNNER_PYTHON": "sh"}
    environment["IPULSE_NICE"] = "10"
    settings = AgentSettings.from_environment(environment)
    assert settings.nice == 10
    assert settings.warm is False
    assert settings.grace_seconds == 2.5
    assert Path(settings.runner_python).name == "sh"
    assert Path(settings.runner_python).is_absolute()


def test_all_mistakes_are_reported_at_once(environment: dict[str, str]) -> None:
    del environment["IPULSE_SERVICE_URL"]
    environment |= {
        "IPULSE_WARM": "yes",
        "IPULSE_GRACE_SECONDS": "-1",
        "IPULSE_READY_SECONDS": "soon",
        "IPULSE_RUNNER_PYTHON": "/no/such/python",
        "IPULSE_DEVICE_KINDS": "cpu,abacus",
        "IPULSE_NICE": "-5",
    }
    with pytest.raises(InvalidInput) as caught:
        AgentSettings.from_environment(environment)
    assert {problem.pointer for problem in caught.value.problems} == {
        "IPULSE_SERVICE_URL",
        "IPULSE_WARM",
        "IPULSE_GRACE_SECONDS",
        "IPULSE_READY_SECONDS",
        "IPULSE_RUNNER_PYTHON",
        "IPULSE_DEVICE_KINDS",
        "IPULSE_NICE",
    }


def test_the_data_directory_is_one(environment: dict[str, str], tmp_path: Path) -> None:
    assert AgentSettings.from_environment(environment).data_dir is None
    environment["IPULSE_DATA"] = str(tmp_path)
    assert AgentSettings.from_environment(environment).data_dir == tmp_path
    assert runner_environment({}, tmp_path)["IPULSE_DATA"] == str(tmp_path)
    for wrong in (str(tmp_path / "missing"), "data"):
        environment["IPULSE_DATA"] = wrong
        with pytest.raises(InvalidInput, match="absolute path of a directory; got"):
            AgentSettings.from_environment(environment)


@pytest.mark.parametrize("name", ["IPULSE_SERVICE_URL", "IPULSE_BROKER_URL"])
def test_an_address_of_another_kind_is_refused_without_showing_it(
    environment: dict[str, str], name: str
) -> None:
    environment[name] = "amqp://user:password@broker/"
    with pytest.raises(InvalidInput) as caught:
        AgentSettings.from_environment(environment)
    assert name in str(caught.value)
    assert "password" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"", b"short", b"\xff\xfe" * 30])
def test_a_missing_token_is_an_error_with_a_hint(
    environment: dict[str, str], content: bytes | None
) -> None:
    path = Path(environment["IPULSE_WORKER_TOKEN_FILE"])
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Unavailable, match=str(path)):
        AgentSettings.from_environment(environment)


def test_no_secret_is_shown(environment: dict[str, str]) -> None:
    settings = AgentSettings.from_environment(environment)
    assert settings.worker_token not in repr(settings)
    assert "password" not in repr(settings)
