from __future__ import annotations

import re
from typing import Any, NamedTuple

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from sqlalchemy import select, update

from ipulse_core import messages
from ipulse_service.db import tables
from ipulse_service.http.auth import OPEN_PATHS
from ipulse_service.http.web import FILES, VIEWS
from tests.service.running import SPEC, InProcess

OPEN = {"/healthz", "/readyz", *FILES}  # those of the page hold no data
VIEW = set(VIEWS)  # as the page itself
WORKER_PREFIX = "/v1/worker/"
# For a join token, or for the token of an agent that has joined; see routes/test_joining.py.
JOINED = {"/v1/worker/join", "/v1/worker/token", "/v1/worker/leave"}
CONTENT = "/v1/jobs/{job_id}/artifacts/{artifact_id}/content"


class Operation(NamedTuple):
    method: str
    path: str


def operations(service: InProcess) -> list[Operation]:
    """Everything the application answers to, also what the framework added by itself."""
    routes = [
        Operation(method, str(route.path))
        for route in iter_route_contexts(service.app.routes)
        for method in sorted(route.methods or ())
    ]
    assert len(routes) > 15
    return routes


def call(client: httpx.Client, operation: Operation) -> httpx.Response:
    path = re.sub(r"\{\w+\}", "x", operation.path)
    return client.request(operation.method, path)


class TestEveryRoute:
    def test_needs_a_token_unless_it_is_listed(self, service: InProcess) -> None:
        assert OPEN_PATHS == OPEN
        service.wait_until_ready()
        with service.client() as nobody:
            for operation in operations(service):
                response = call(nobody, operation)
                if operation.path in OPEN | VIEW:
                    assert response.status_code == 200, operation
                else:
                    assert response.status_code == 401, operation
                    assert response.headers["www-authenticate"] == "Bearer"

    def test_takes_the_token_of_its_own_role_only(self, service: InProcess) -> None:
        for operation in operations(service):
            if operation.path in OPEN | VIEW or operation.path == "/openapi.json":
                continue
            is_workers = operation.path.startswith(WORKER_PREFIX)
            if operation.path.startswith("/v1/tokens"):
                continue  # the owner's, see below
            if operation.path in JOINED:
                statuses = [
                    call(who, operation).status_code for who in (service.user, service.worker)
                ]
                assert statuses == [403, 403], operation
                continue
            as_user = call(service.user, operation).status_code
            as_worker = call(service.worker, operation).status_code
            assert (as_user == 403) is is_workers, operation
            assert (as_worker == 403) is not (is_workers or operation.path == CONTENT), operation


class TestTokens:
    @pytest.mark.parametrize(
        "authorization",
        [
            "",
            "Bearer",
            "Bearer wrong",
            "Bearer {token}x",
            "Basic {token}",
            "{token}",
            "Bearer \xff\xfe",
        ],
    )
    def test_anything_but_a_token_is_refused(self, service: InProcess, authorization: str) -> None:
        token = service.settings.token_file.read_text().strip()
        headers = {b"authorization": authorization.replace("{token}", token).encode("latin-1")}
        with service.client() as nobody:
            response = nobody.get("/v1/jobs", headers=headers)
            assert response.status_code == 401
            assert response.json()["code"] == "not_authenticated"

    def test_a_token_in_the_url_is_not_one(self, service: InProcess) -> None:
        token = service.settings.token_file.read_text().strip()
        with service.client() as nobody:
            assert nobody.get("/v1/jobs", params={"token": token}).status_code == 401

    def test_an_unknown_path_needs_a_token_too(self, service: InProcess) -> None:
        with service.client() as nobody:
            assert nobody.get("/v1/secret").status_code == 401
        response = service.user.get("/v1/secret")
        assert (response.status_code, response.json()["code"]) == (404, "not_found")
        assert "/v1/secret" in response.json()["detail"]


class TestIssuedTokens:
    """Handed out for a role and a time; only digests are kept."""

    def issue(self, service: InProcess, role: str, seconds: int = 60) -> dict[str, Any]:
        body = {"name": "a test", "role": role, "seconds": seconds}
        response = service.user.post("/v1/tokens", json=body)
        assert response.status_code == 201, response.text
        issued: dict[str, Any] = response.json()
        return issued

    def client(self, service: InProcess, token: str) -> httpx.Client:
        headers = {"authorization": f"Bearer {token}", messages.PROTOCOL_HEADER: "5"}
        return httpx.Client(base_url=service.url, headers=headers)

    def test_each_role_may_do_its_own_and_no_more(self, service: InProcess) -> None:
        may = {"reader": (200, 403, 403), "user": (200, 202, 403), "worker": (403, 403, 404)}
        for role, expected in may.items():
            with self.client(service, self.issue(service, role)["token"]) as client:
                statuses = (
                    client.get("/v1/jobs").status_code,
                    client.post("/v1/jobs", json=SPEC).status_code,
                    client.post(
                        "/v1/worker/claims",
                        json={"job_id": "job_x", "agent": "a", "device_kinds": ["cpu"]},
                    ).status_code,
                )
                assert statuses == expected, role
                assert client.get("/v1/tokens").status_code == 403
                assert client.post("/v1/tokens", json={}).status_code == 403

    def test_an_expired_or_revoked_token_is_refused(self, service: InProcess) -> None:
        revoked, expired = (self.issue(service, "user") for _ in range(2))
        service.user.delete(f"/v1/tokens/{revoked['about']['id']}")
        with service.database.write() as transaction:
            of_token = tables.tokens.c.id == expired["about"]["id"]
            transaction.connection.execute(
                update(tables.tokens).where(of_token).values(expires_at=transaction.now)
            )
        for issued in (revoked, expired):
            with self.client(service, issued["token"]) as client:
                assert client.get("/v1/jobs").status_code == 401

    @pytest.mark.parametrize("end", ["expired", "revoked"])
    def test_an_open_stream_breaks_off_with_its_token(self, service: InProcess, end: str) -> None:
        issued = self.issue(service, "reader")
        path = f"/v1/jobs/{service.submit()['id']}/events"
        headers = {"accept": "text/event-stream"}
        with self.client(service, issued["token"]) as client:
            with client.stream("GET", path, headers=headers, timeout=30.0) as stream:
                lines = stream.iter_lines()
                while "queued" not in next(lines):
                    pass
                if end == "revoked":
                    service.user.delete(f"/v1/tokens/{issued['about']['id']}")
                else:
                    self.expire(service, issued)
                assert "event: end" not in list(lines)
            assert client.get(path, headers=headers).status_code == 401

    def expire(self, service: InProcess, issued: dict[str, Any]) -> None:
        of_token = tables.tokens.c.id == issued["about"]["id"]
        with service.database.write() as transaction:
            late = update(tables.tokens).where(of_token).values(expires_at=transaction.now)
            transaction.connection.execute(late)

    def test_a_secret_is_returned_once_and_not_stored(self, service: InProcess) -> None:
        token = self.issue(service, "user")["token"]
        secret = token[len("ipulse_0123456789abcdef_") :]
        assert secret not in service.user.get("/v1/tokens").text
        with service.database.read() as transaction:
            rows = transaction.connection.execute(select(tables.tokens)).all()
        assert rows
        assert secret not in str(rows)

    def test_a_truncated_token_is_refused(self, service: InProcess) -> None:
        token = self.issue(service, "user")["token"]
        other = self.issue(service, "user")["token"]
        mixed = token[:24] + other[24:]
        for wrong in (token[:-1], token + "x", mixed, "ipulse_"):
            with self.client(service, wrong) as client:
                assert client.get("/v1/jobs").status_code == 401

    def test_only_a_user_may_get_the_right_to_submit_code(self, service: InProcess) -> None:
        assert self.issue(service, "user")["about"]["submit_code"] is False
        body = {"name": "a test", "role": "user", "seconds": 60, "submit_code": True}
        about = service.user.post("/v1/tokens", json=body).json()["about"]
        assert about["submit_code"] is True
        assert about in service.user.get("/v1/tokens").json()["tokens"]
        for role in ("reader", "worker"):
            refused = service.user.post("/v1/tokens", json={**body, "role": role})
            assert refused.status_code == 422
            assert [one["pointer"] for one in refused.json()["errors"]] == ["/submit_code"]

    def test_the_right_to_submit_code_is_given_and_taken_at_once(self, service: InProcess) -> None:
        package = "sha256:" + "0" * 64  # was never pushed
        program = {"version": 1, "kind": "poplar_program", "sources": ["a.cpp"], "package": package}
        made = self.issue(service, "user")
        path = f"/v1/tokens/{made['about']['id']}"
        with self.client(service, made["token"]) as client:
            for may in (True, False):
                changed = service.user.patch(path, json={"submit_code": may})
                assert changed.json() == {**made["about"], "submit_code": may}
                assert (client.post("/v1/jobs", json=program).status_code != 403) is may
            assert client.patch(path, json={"submit_code": True}).status_code == 403
        reader = self.issue(service, "reader")["about"]["id"]
        refused = service.user.patch(f"/v1/tokens/{reader}", json={"submit_code": True})
        assert refused.status_code == 422
        assert [one["pointer"] for one in refused.json()["errors"]] == ["/submit_code"]
        unknown = service.user.patch(f"/v1/tokens/{'0' * 16}", json={"submit_code": True})
        assert unknown.status_code == 404

    def test_what_is_asked_for_must_make_sense(self, service: InProcess) -> None:
        wrong = {"name": "", "role": "root", "seconds": 0}
        problem = service.user.post("/v1/tokens", json=wrong).json()
        assert {one["pointer"] for one in problem["errors"]} == {"/name", "/role", "/seconds"}


class TestNames:
    """DNS rebinding: a page on another name makes a browser come to this machine."""

    @pytest.mark.parametrize(
        "headers",
        [
            {"host": "evil.example"},
            {"host": "127.0.0.1.evil.example"},
            {"host": "localhost@evil.example"},
            {"origin": "http://evil.example"},
            {"origin": "null"},
        ],
    )
    @pytest.mark.parametrize("path", ["/v1/jobs", "/healthz"])
    def test_a_foreign_name_is_not_answered(
        self, service: InProcess, headers: dict[str, str], path: str
    ) -> None:
        response = service.user.get(path, headers=headers)
        assert response.status_code == 400
        assert response.json()["code"] == "wrong_host"

    @pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8470", "[::1]:8470", "127.0.0.1:1"])
    def test_the_names_of_this_machine_are_answered(self, service: InProcess, host: str) -> None:
        headers = {"host": host, "origin": f"http://{host}"}
        assert service.user.get("/v1/jobs", headers=headers).status_code == 200
