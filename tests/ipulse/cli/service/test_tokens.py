"""Tokens handed out on the command line are good for what they say, until they are taken back."""

from __future__ import annotations

import pytest

from ipulse.client import Connection
from ipulse_core.errors import NotAuthenticated, NotPermitted
from tests.ipulse.cli.conftest import SPEC, Run
from tests.ipulse.live_service import LiveService


def test_a_token_from_its_making_to_its_end(service: LiveService, offline: Run) -> None:
    address = {"IPULSE_URL": service.url, "IPULSE_TOKEN": service.token}
    made = offline("token", "create", "dashboard", "--days", "2", "--json", **address)
    assert made.code == 0, made.err
    secret, about = made.json["token"], made.json["about"]
    assert about["role"] == "reader"

    listed = offline("token", "list", "--json", **address)
    assert about in listed.json["tokens"]
    assert secret not in listed.out

    allowed = offline(
        *("token", "create", "coder", "--role", "user", "--submit-code", "--json"), **address
    )
    assert allowed.json["about"]["submit_code"] is True
    assert about["submit_code"] is False

    coder = allowed.json["about"]["id"]
    taken = offline("token", "edit", coder, "--no-submit-code", "--json", **address)
    assert allowed.json["about"]["scopes"] == ["read", "submit", "code"]
    without = {"submit_code": False, "scopes": ["read", "submit"]}
    assert taken.json == {**allowed.json["about"], **without}
    assert offline("token", "edit", coder, **address).code == 2  # what shall change?
    assert offline("token", "edit", about["id"], "--submit-code", **address).code == 2

    with Connection(service.url, secret) as reader:
        assert list(reader.jobs()) is not None
        with pytest.raises(NotPermitted):
            reader.submit(SPEC)
    shown = offline("token", "create", "x", "--role", "owner", **address)
    assert shown.code == 2
    assert "owner" in shown.err or "role" in shown.err

    revoked = offline("token", "revoke", about["id"], "--yes", **address)
    assert revoked.code == 0, revoked.err
    assert offline("token", "revoke", about["id"], "--yes", **address).code == 3
    with Connection(service.url, secret) as nobody, pytest.raises(NotAuthenticated):
        list(nobody.jobs())
