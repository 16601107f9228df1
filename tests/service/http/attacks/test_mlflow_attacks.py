"""Attacks that MLflow was open to."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from ipulse.stack.redis_server import RedisServer
from tests.service.agents import line
from tests.service.conditions import eventually
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess, settings_for


class TestMLflowCVE20260545:
    """Routes of a second framework that nobody guarded: see test_auth.TestEveryRoute."""

    def test_what_is_added_later_needs_a_token_too(
        self, redis_server: RedisServer, home: Path
    ) -> None:
        """Also what is no route of FastAPI's: a whole application of its own, mounted below."""

        async def other(scope: Scope, receive: Receive, send: Send) -> None:
            await PlainTextResponse("secret")(scope, receive, send)

        running = InProcess(settings_for(home, redis_server.url))
        running.app.mount("/ajax-api/3.0", other)
        with running as service, service.client() as nobody:
            for path in ("/ajax-api/3.0/jobs/", "/openapi.json", "/metrics"):
                for method in ("GET", "POST", "OPTIONS"):
                    answer = nobody.request(method, path)
                    assert answer.status_code == 401, (method, path)
                    assert "secret" not in answer.text
            upgrade = {"connection": "Upgrade", "upgrade": "websocket"}
            key = {"sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==", "sec-websocket-version": "13"}
            answer = nobody.get("/ajax-api/3.0/jobs/", headers={**upgrade, **key})
            check_problem(answer, 401)
            assert service.user.get("/ajax-api/3.0/jobs/").text == "secret"  # it is there


class TestMLflowPathTraversal:
    """CVE-2023-6831, -6909, -6977, CVE-2024-1483, -1560, -1593, -3848 and CVE-2026-2033."""

    PATHS = (
        "../token",
        "..%2ftoken",
        "%2e%2e%2ftoken",
        "%252e%252e%252ftoken",
        ";../token",
        "x%23/../../token",
        "..%5ctoken",
        "%2fetc%2fpasswd",
        "a%00b",
    )

    @pytest.mark.parametrize("odd", PATHS)
    def test_no_path_leads_to_a_file(self, service: InProcess, odd: str) -> None:
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        secret = service.settings.token_file.read_text().strip()
        before = sorted(service.settings.home.rglob("*"))
        for path in (
            f"/v1/jobs/{odd}",
            f"/v1/jobs/{odd}/artifacts",
            f"/v1/jobs/{job_id}/artifacts/{odd}/content",
        ):
            response = service.user.get(path)
            assert response.status_code == 404, path
            assert secret not in response.text
        assert service.user.delete(f"/v1/jobs/{odd}").status_code in (404, 405)
        assert attempt.put(odd, "weights").status_code in (404, 405, 422)
        assert sorted(service.settings.home.rglob("*")) == before


class TestMLflowSSRF:
    """CVE-2023-6974 and the campaign after it: the server fetches what a client names."""

    @pytest.mark.parametrize("url", ["http://169.254.169.254/", "file:///etc/passwd"])
    def test_a_spec_names_no_address(self, service: InProcess, url: str) -> None:
        for data in (
            {"kind": url},
            {"kind": "digits", "url": url},
            {"kind": "digits", "path": url},
        ):
            check_problem(service.user.post("/v1/jobs", json={**SPEC, "data": data}), 422)

    def test_no_address_in_a_text_is_contacted(self, service: InProcess) -> None:
        with socket.create_server(("127.0.0.1", 0)) as lure:
            url = f"http://127.0.0.1:{lure.getsockname()[1]}/"
            spec = {**SPEC, "name": url[:60], "metadata": {"webhook": url, "data": url}}
            job_id = service.submit(spec)["id"]
            service.user.post(
                "/v1/jobs:validate", json={**spec, "data": {"kind": "events", "file": url}}
            )
            attempt = service.attempt(job_id)
            attempt.report(line(url))
            attempt.put("manifest.json", "manifest", announced={"media_type": "text/uri-list"})
            for path in (job_id, f"{job_id}/events", f"{job_id}/artifacts"):
                assert service.user.get(f"/v1/jobs/{path}").status_code == 200
            # A connection would be in the listener's queue by now, accepted or not.
            lure.setblocking(False)
            with pytest.raises(BlockingIOError):
                lure.accept()


class TestMLflowCVE20250453:
    """Requests that ask for more than a service has."""

    def test_pages_bodies_and_depths_have_bounds(self, service: InProcess) -> None:
        page = service.user.get("/v1/jobs", params={"page_size": 10**9})
        assert len(page.json()["jobs"]) <= 500
        headers = {"content-type": "application/json"}
        large = b'"' + b"x" * (service.settings.max_body_bytes + 1) + b'"'
        check_problem(service.user.post("/v1/jobs", content=large, headers=headers), 413)
        deep = b"[" * 100_000 + b"]" * 100_000
        check_problem(service.user.post("/v1/jobs", content=deep, headers=headers), 400)

    def test_one_token_has_only_so_many_requests_open(
        self, redis_server: RedisServer, home: Path
    ) -> None:
        with InProcess(settings_for(home, redis_server.url, max_requests=2)) as service:
            path = f"/v1/jobs/{service.submit()['id']}/events"
            stream = {"accept": "text/event-stream"}
            with service.user.stream("GET", path, headers=stream) as one:
                assert one.status_code == 200
                with service.user.stream("GET", path, headers=stream):
                    refused = service.user.get("/v1/jobs")
                    assert check_problem(refused, 429)["code"] == "too_many_requests"
                    assert int(refused.headers["retry-after"]) > 0
                    check_problem(service.worker.get("/v1/jobs"), 403)  # each token has its own
                eventually(lambda: service.user.get("/v1/jobs").status_code == 200)
