from __future__ import annotations

import re
from typing import NamedTuple

import httpx
import pytest
from fastapi.routing import iter_route_contexts

from ipulse_service.http.auth import OPEN_PATHS
from ipulse_service.http.web import FILES, VIEWS
from tests.service.running import InProcess

LOGIN = {"/v1/auth/device", "/v1/auth/device/token"}  # a program without a token signs in
SIGN_IN = {"/v1/auth": 200, "/v1/auth/login": 303, "/v1/auth/callback": 303}  # in a browser
OPEN = {"/healthz", "/readyz", *LOGIN, *SIGN_IN, *FILES}  # those of the page hold no data
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
                if operation.path in LOGIN:
                    assert response.status_code == 415, operation  # it wants to read the body
                elif operation.path in OPEN | VIEW:
                    assert response.status_code == SIGN_IN.get(operation.path, 200), operation
                else:
                    assert response.status_code == 401, operation
                    assert response.headers["www-authenticate"] == "Bearer"

    def test_whose_path_is_free_text_is_none_that_needs_no_token(self, service: InProcess) -> None:
        """Its caller would be unknown."""
        for operation in operations(service):
            pattern = re.sub(r"\{\w+\}", "[^/]+", operation.path)
            if "{" in operation.path:
                assert not [path for path in OPEN_PATHS if re.fullmatch(pattern, path)], operation

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
