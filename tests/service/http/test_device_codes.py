"""A program signs in with a code that a person confirms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from ipulse_service.db import device_codes, tables
from ipulse_service.http.schemas.device_codes import GRANT_TYPE
from tests.service.people import checked, issued, person, with_token
from tests.service.running import InProcess

pytestmark = pytest.mark.postgresql


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def alice(service: InProcess) -> Iterator[httpx.Client]:
    with ExitStack() as stack:
        yield person(service, stack, "alice", default="member")


@pytest.fixture
def program(service: InProcess) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client


def begin(program: httpx.Client, scope: str = "read submit admin") -> dict[str, Any]:
    return checked(program.post("/v1/auth/device", json={"client_id": "laptop", "scope": scope}))


def ask(program: httpx.Client, begun: dict[str, Any]) -> httpx.Response:
    body = {"grant_type": GRANT_TYPE, "device_code": begun["device_code"]}
    return program.post("/v1/auth/device/token", json=body)


def test_the_token_has_the_rights_of_who_confirms_and_no_more(
    service: InProcess, stack: ExitStack, program: httpx.Client, alice: httpx.Client
) -> None:
    begun = begin(program)
    waiting = ask(program, begun)
    assert (waiting.status_code, waiting.json()) == (400, {"error": "authorization_pending"})
    assert ask(program, begun).json() == {"error": "slow_down"}
    shown = checked(alice.get(f"/v1/auth/device/codes/{begun['user_code'].lower()}"))
    assert shown["client"] == "laptop"
    alice_has = set(alice.get("/v1/me").json()["scopes"])
    assert set(shown["scopes"]) == {"read", "submit", "admin"} & alice_has
    answer = {"user_code": begun["user_code"], "allow": True}
    checked(alice.post("/v1/auth/device/answer", json=answer))
    token = checked(ask(program, begun))
    assert (token["token_type"], token["user"]) == ("Bearer", "alice")
    me = with_token(service, stack, token["access_token"]).get("/v1/me").json()
    assert (me["name"], me["is_admin"]) == ("alice", False)
    assert ask(program, begun).json() == {"error": "invalid_grant"}, "it is used up"
    assert alice.post("/v1/auth/device/answer", json=answer).status_code == 404
    assert any(
        each["name"] == "login on laptop" for each in alice.get("/v1/tokens").json()["tokens"]
    )


def test_who_may_use_one_project_gives_no_other(
    service: InProcess, stack: ExitStack, program: httpx.Client, alice: httpx.Client
) -> None:
    checked(service.user.post("/v1/projects", json={"name": "vision"}))
    path = "/v1/projects/vision/members/alice"
    checked(service.user.put(path, json={"role": "member"}))
    narrow = issued(service, stack, user="alice", project="vision")
    begun = begin(program)
    answer = {"user_code": begun["user_code"], "allow": True}
    checked(narrow.post("/v1/auth/device/answer", json=answer))
    token = checked(ask(program, begun))["access_token"]
    assert with_token(service, stack, token).get("/v1/me").json()["roles"].keys() == {"vision"}
    wider = {"name": "x", "seconds": 60, "project": "default"}
    assert narrow.post("/v1/tokens", json=wider).status_code == 403
    made = checked(narrow.post("/v1/tokens", json={"name": "x", "seconds": 60}))
    assert made["about"]["project"] == "vision"


def test_a_refused_or_an_old_code_gives_no_token(
    service: InProcess, program: httpx.Client, alice: httpx.Client
) -> None:
    refused, old = begin(program), begin(program)
    answer = {"user_code": refused["user_code"], "allow": False}
    checked(alice.post("/v1/auth/device/answer", json=answer))
    assert ask(program, refused).json() == {"error": "access_denied"}
    with service.database.write() as transaction:
        codes = tables.device_codes
        this = update(codes).where(codes.c.user_code == old["user_code"])
        transaction.connection.execute(this.values(expires_at=transaction.now))
    assert ask(program, old).json() == {"error": "expired_token"}
    assert alice.get(f"/v1/auth/device/codes/{old['user_code']}").status_code == 404


def test_a_forged_code_gives_no_token(program: httpx.Client) -> None:
    begun = begin(program)
    for wrong in ("", "x", begun["device_code"][:-1] + "_", begun["user_code"]):
        answer = ask(program, {"device_code": wrong})
        assert (answer.status_code, answer.json()) == (400, {"error": "invalid_grant"})


def test_nobody_answers_without_being_signed_in(program: httpx.Client) -> None:
    begun = begin(program)
    answer = {"user_code": begun["user_code"], "allow": True}
    assert program.post("/v1/auth/device/answer", json=answer).status_code == 401
    assert program.get(f"/v1/auth/device/codes/{begun['user_code']}").status_code == 401


def test_only_so_many_programs_wait(program: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_codes, "MOST_WAITING", 0)
    refused = program.post("/v1/auth/device", json={"client_id": "x"})
    assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
