"""Tokens that a service issues, and what each opens."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from ipulse.stack import tls
from ipulse_core import messages
from ipulse_service.db import tables
from tests.service.running import SPEC, InProcess


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
        trusted = tls.machines_trust()
        return httpx.Client(base_url=service.url, headers=headers, verify=trusted)

    def test_each_role_may_do_its_own_and_no_more(self, service: InProcess) -> None:
        may = {"reader": (200, 403, 403), "user": (200, 202, 403)}
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
                other = {"name": "x", "role": "user", "seconds": 60}
                assert client.post("/v1/tokens", json=other).status_code == 403

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
    def test_n4_a_stream_breaks_off_with_its_token(self, service: InProcess, end: str) -> None:
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
        refused = service.user.post("/v1/tokens", json={**body, "role": "reader"})
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
                assert changed.json()["submit_code"] is may
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
