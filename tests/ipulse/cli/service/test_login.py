"""Signed in once, a user's commands find the service and its token."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.ipulse.cli.conftest import Run, started
from tests.ipulse.live_service import LiveService


@pytest.fixture
def user(offline: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs commands of a user without a service, token or login."""
    for name in ("IPULSE_URL", "IPULSE_TOKEN", "IPULSE_TOKEN_FILE", "IPULSE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    monkeypatch.chdir(tmp_path)
    return offline


def test_from_login_to_logout(user: Run, service: LiveService, tmp_path: Path) -> None:
    assert user("list").code == 5  # no service is known
    signed_in = user("login", service.url, stdin=service.token + "\n")
    assert signed_in.code == 0, signed_in.err
    assert service.token not in signed_in.out + signed_in.err
    stored = tmp_path / "configuration" / "ipulse" / "login.json"
    assert stored.stat().st_mode & 0o077 == 0
    assert user("list", "--json").code == 0
    assert "login.json" in user("doctor").out
    assert user("logout", "--json").json == {"url": service.url}
    assert not stored.exists()
    assert user("list").code == 5
    assert user("logout").code == 0


def test_a_wrong_token_is_not_stored(user: Run, service: LiveService, tmp_path: Path) -> None:
    for token in ("x" * 40, "", "höchst geheim"):
        refused = user("login", service.url, stdin=token + "\n")
        assert (refused.code, refused.out) == (4, ""), refused.err
    assert not (tmp_path / "configuration").exists()


def test_a_code_is_confirmed_in_the_page(user: Run, service: LiveService, tmp_path: Path) -> None:
    configuration = tmp_path / "configuration"
    places = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(configuration)}
    signing_in = started("login", service.url, "--page", **places)
    with signing_in:
        assert signing_in.stderr is not None
        code = signing_in.stderr.readline().rpartition("code=")[2].strip()
        headers = {"authorization": f"Bearer {service.token}"}
        answer = {"user_code": code, "allow": True}
        path = f"{service.url}/v1/auth/device/answer"
        httpx.post(path, json=answer, headers=headers).raise_for_status()
        signing_in.stderr.read()
    assert signing_in.returncode == 0
    stored = (configuration / "ipulse" / "login.json").read_text()
    assert service.token not in stored
    assert user("list", "--json").code == 0
