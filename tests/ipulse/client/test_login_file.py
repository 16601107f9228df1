"""The address and the token that a login has stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipulse.client.location import ServiceLocation, find_service
from ipulse.client.login_file import Login, forget_login, login_path, store_login
from ipulse_core.errors import InvalidInput, NotAuthenticated, Unavailable
from tests.ipulse.client.conftest import HIDDEN


class TestLogin:
    """The service that `ipulse login` has stored."""

    @pytest.fixture
    def user(self, tmp_path: Path) -> dict[str, str]:
        """The environment of a user who has signed in to a service elsewhere."""
        environment = {"HOME": str(tmp_path / "user")}
        path = store_login(Login("https://lab.example:8470", HIDDEN), environment)
        assert path.stat().st_mode & 0o077 == 0
        return environment

    def test_needs_no_address_and_no_token(self, user: dict[str, str]) -> None:
        location = find_service(environment=user)
        assert location == ServiceLocation("https://lab.example:8470", HIDDEN)
        assert location.token_from.endswith("login.json")
        assert find_service("https://lab.example:8470/", environment=user).token == HIDDEN

    def test_its_token_is_sent_to_no_other_address(self, user: dict[str, str]) -> None:
        with pytest.raises(NotAuthenticated):
            find_service("https://other.example:8470", environment=user)
        known = {**user, "IPULSE_TOKEN": "of-the-environment"}
        assert find_service(environment=known).token == HIDDEN
        assert (
            find_service("https://other.example", environment=known).token == known["IPULSE_TOKEN"]
        )

    def test_a_home_that_is_named_comes_first(self, user: dict[str, str], home: Path) -> None:
        known = {**user, "IPULSE_HOME": str(home)}
        assert find_service(environment=known).url == "http://127.0.0.1:8471"
        assert find_service(home=home, environment=user).url == "http://127.0.0.1:8471"

    def test_a_damaged_file_is_an_error_that_logout_mends(self, user: dict[str, str]) -> None:
        path = login_path(user)
        assert path is not None
        path.write_text('{"url": ')
        with pytest.raises(InvalidInput, match="ipulse login"):
            find_service(environment=user)
        assert forget_login(user) is None
        with pytest.raises(Unavailable):
            find_service(environment=user)
