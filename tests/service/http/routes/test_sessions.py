"""Sessions of browsers: one-time codes, the cookie, and the checks of requests with it."""

from __future__ import annotations

from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from ipulse_service.db import tables
from tests.service.running import SPEC, InProcess

PAGE = {"x-ipulse-page": "1"}


def code(service: InProcess, client: httpx.Client | None = None) -> str:
    response = (client or service.user).post("/v1/sign-in-codes")
    assert response.status_code == 201, response.text
    text: str = response.json()["code"]
    return text


def sign_in(service: InProcess, secret: str) -> httpx.Response:
    with service.client() as nobody:
        return nobody.post("/v1/sessions", headers={"authorization": f"Bearer {secret}"})


def browser(service: InProcess, secret: str) -> httpx.Client:
    """A client with the cookie of a session, and the headers that the page sends."""
    response = sign_in(service, secret)
    assert response.status_code == 201, response.text
    client = service.client()
    client.cookies.update(response.cookies)
    client.headers.update({"origin": service.url, **PAGE})
    return client


def token(service: InProcess, role: str) -> dict[str, Any]:
    body = {"name": "a test", "role": role, "seconds": 600}
    issued: dict[str, Any] = service.user.post("/v1/tokens", json=body).json()
    return issued


def test_a_code_signs_one_browser_in_once(service: InProcess) -> None:
    secret = code(service)
    with browser(service, secret) as client:
        assert client.get("/v1/session").json()["role"] == "owner"
        assert client.post("/v1/jobs", json=SPEC).status_code == 202
    again = sign_in(service, secret)
    assert (again.status_code, again.json()["code"]) == (401, "not_authenticated")


def test_a_code_is_traded_for_one_other_code(service: InProcess) -> None:
    first = code(service)
    with service.client() as nobody:
        nobody.headers["authorization"] = f"Bearer {first}"
        second = code(service, nobody)
        assert nobody.post("/v1/sign-in-codes").status_code == 401
    assert sign_in(service, first).status_code == 401
    assert sign_in(service, second).status_code == 201


def test_a_code_is_no_token(service: InProcess) -> None:
    with service.client() as nobody:
        headers = {"authorization": f"Bearer {code(service)}"}
        assert nobody.get("/v1/jobs", headers=headers).status_code == 403


def test_an_old_code_is_refused(service: InProcess) -> None:
    secret = code(service)
    with service.database.write() as transaction:
        expired = update(tables.web_sessions).values(expires_at=transaction.now)
        transaction.connection.execute(expired)
    assert sign_in(service, secret).status_code == 401


def test_scripts_cannot_read_the_cookie(service: InProcess) -> None:
    response = sign_in(service, service.settings.token_file.read_text().strip())
    [cookie] = SimpleCookie(response.headers["set-cookie"]).values()
    assert cookie["httponly"]
    assert cookie["samesite"] == "strict"
    assert cookie["path"] == "/"
    assert cookie.key.endswith(service.url.rpartition(":")[2]), "another stack has another port"
    assert not cookie["secure"], "plain HTTP on loopback"


@pytest.mark.parametrize(
    "changed",
    [{"origin": ""}, {"origin": "http://localhost:1"}, {"x-ipulse-page": None}],
    ids=["no origin", "another port", "no header"],
)
def test_a_change_must_come_from_the_page(
    service: InProcess, changed: dict[str, str | None]
) -> None:
    with browser(service, code(service)) as client:
        for name, value in changed.items():
            del client.headers[name]
            if value:
                client.headers[name] = value
        assert client.get("/v1/jobs").status_code == 200
        assert client.post("/v1/jobs", json=SPEC).status_code == 403


def test_a_session_may_do_what_its_token_may(service: InProcess) -> None:
    with browser(service, token(service, "reader")["token"]) as client:
        assert client.get("/v1/session").json()["role"] == "reader"
        assert client.get("/v1/jobs").status_code == 200
        assert client.post("/v1/jobs", json=SPEC).status_code == 403
        with browser(service, code(service, client)) as other:
            assert other.get("/v1/session").json()["role"] == "reader"
    assert sign_in(service, service.agent_token()).status_code == 403


def test_a_session_ends_with_its_token(service: InProcess) -> None:
    issued = token(service, "user")
    with browser(service, issued["token"]) as client:
        assert client.get("/v1/jobs").status_code == 200
        service.user.delete(f"/v1/tokens/{issued['about']['id']}")
        assert client.get("/v1/jobs").status_code == 401


def test_signing_out_ends_the_session(service: InProcess) -> None:
    with browser(service, code(service)) as client:
        kept = dict(client.cookies)
        assert client.delete("/v1/session").status_code == 204
        assert not client.cookies
        client.cookies.update(kept)
        assert client.get("/v1/jobs").status_code == 401
