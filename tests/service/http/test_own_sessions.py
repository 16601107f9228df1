"""Sessions of browsers are listed and ended by the person that they belong to."""

from __future__ import annotations

from contextlib import ExitStack

import httpx
import pytest

from tests.service.people import checked, person
from tests.service.running import InProcess

pytestmark = pytest.mark.postgresql


def signed_in(service: InProcess, stack: ExitStack, client: httpx.Client) -> httpx.Client:
    browser = stack.enter_context(service.client())
    headers = {"authorization": client.headers["authorization"]}
    checked(browser.post("/v1/sessions", headers=headers))
    assert browser.get("/v1/session").status_code == 200
    return browser


def test_a_person_ends_own_sessions_alone(service: InProcess) -> None:
    with ExitStack() as stack:
        alice, bob = (person(service, stack, name, default="member") for name in ("ann", "ben"))
        first, second = (signed_in(service, stack, alice) for _ in range(2))
        other, owners = (signed_in(service, stack, who) for who in (bob, service.user))
        listed = checked(first.get("/v1/sessions"))["sessions"]
        assert [each["is_current"] for each in listed].count(True) == 1
        assert len(listed) == 2
        (current,) = [each["id"] for each in listed if each["is_current"]]
        assert bob.delete(f"/v1/sessions/{current}").status_code == 404
        assert alice.delete(f"/v1/sessions/{current}").status_code == 204
        assert first.get("/v1/session").status_code == 401
        assert second.get("/v1/session").status_code == 200
        assert alice.delete("/v1/sessions").status_code == 204
        assert second.get("/v1/session").status_code == 401
        assert alice.get("/v1/session").status_code == 200  # its token
        assert [each.get("/v1/session").status_code for each in (other, owners)] == [200, 200]
        checked(service.user.delete("/v1/sessions"))
        assert owners.get("/v1/session").status_code == 401
        assert other.get("/v1/session").status_code == 200
