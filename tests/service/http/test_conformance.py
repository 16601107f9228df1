"""Every operation answers a faulty request with the status that the OpenAPI document has for it.

`tests/service/conformance.py` checks the answers of all other tests against the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from tests.service import conformance
from tests.service.running import InProcess

pytestmark = pytest.mark.postgresql

OTHER_ROLES = ("/v1/worker/join",)  # neither a user's nor a worker's token is enough
SIGN_IN = ("", "/login", "/callback", "/device", "/device/token")
OPEN = ("/healthz", "/readyz", *(f"/v1/auth{path}" for path in SIGN_IN))
FILE = {"role": "log", "size": "0", "sha256": "0" * 64}


class Operation(NamedTuple):
    method: str
    path: str
    described: dict[str, Any]

    @property
    def url(self) -> str:
        return re.sub(r"\{\w+(:\w+)?\}", "none", self.path)

    @property
    def is_worker(self) -> bool:
        return self.path.startswith("/v1/worker/")

    @property
    def has_json(self) -> bool:
        body = self.described.get("requestBody", {})
        return "application/json" in body.get("content", {})

    def has(self, status: int) -> bool:
        return str(status) in self.described["responses"]

    def send(self, service: InProcess, **options: Any) -> httpx.Response:
        """Sends a request that is valid but for the options; no such object exists."""
        client = options.pop("client", service.worker if self.is_worker else service.user)
        names = {parameter["name"] for parameter in self.described.get("parameters", ())}
        headers = {"ipulse-fence": "none", "upload-offset": "0", **options.pop("headers", {})}
        query = {name: value for name, value in FILE.items() if name in names}
        options.setdefault("params", query)
        return client.request(self.method, self.url, headers=headers, **options)


@pytest.fixture(scope="module")
def operations(service: InProcess) -> list[Operation]:
    service.wait_until_ready()
    paths = service.user.get("/openapi.json").json()["paths"]
    found = [
        Operation(method.upper(), path, item[method])
        for path, item in paths.items()
        for method in item
    ]
    assert len(found) > 25
    return found


@pytest.fixture(scope="module")
def nobody(service: InProcess) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client


def test_without_a_token(
    service: InProcess, operations: list[Operation], nobody: httpx.Client
) -> None:
    for operation in operations:
        answer = operation.send(service, client=nobody)
        assert (answer.status_code == 401) == operation.has(401), operation.path
        assert operation.has(401) == (operation.path not in OPEN)


def test_with_the_token_of_another_role(service: InProcess, operations: list[Operation]) -> None:
    for operation in operations:
        other = service.user if operation.is_worker else service.worker
        body = {"json": {}} if operation.has_json else {}
        status = operation.send(service, client=other, **body).status_code
        assert operation.has(status), (operation.path, status)
        # A body that is wrong comes first; agents download checkpoints.
        if not operation.has_json and not operation.path.endswith("/content"):
            assert (status == 403) == operation.has(403), operation.path


def test_for_another_host(service: InProcess, operations: list[Operation]) -> None:
    for operation in operations:
        answer = operation.send(service, headers={"host": "other.example"})
        assert answer.status_code == 400, operation.path
        assert operation.has(400)


def test_with_an_unknown_parameter(service: InProcess, operations: list[Operation]) -> None:
    refused = 0
    for operation in operations:
        answer = operation.send(service, params={"odd": "1"})
        assert answer.status_code == 400 or operation.has(answer.status_code), operation.path
        refused += answer.status_code == 400
    assert refused > 5


def test_for_an_object_that_does_not_exist(service: InProcess, operations: list[Operation]) -> None:
    for operation in operations:
        if "{" in operation.path and not operation.has_json:
            assert operation.send(service).status_code == 404, operation.path
            assert operation.has(404)


def test_with_a_body_that_is_wrong(service: InProcess, operations: list[Operation]) -> None:
    huge = b'"' + b"x" * (service.settings.max_events_bytes + 1) + b'"'
    json = {"content-type": "application/json"}
    faults: list[tuple[int, bytes, dict[str, str]]] = [
        (422, b'{"odd": 1}', json),
        (400, b"{", json),
        (415, b"{}", {"content-type": "text/plain"}),
        (413, huge, json),
    ]
    bodies = [operation for operation in operations if operation.has_json]
    assert len(bodies) >= 6
    for operation in operations:
        assert operation.has(415) == operation.has_json, operation.path
        for status, content, headers in faults if operation.has_json else ():
            answer = operation.send(service, content=content, headers=headers)
            assert operation.has(status)
            if operation.path not in OTHER_ROLES:
                assert answer.status_code == status, (operation.path, answer.text)


def test_the_check_of_all_answers_finds_what_is_not_described(service: InProcess) -> None:
    request = httpx.Request("GET", service.url + "/v1/jobs/none/events?after=1")
    for status, media_type in ((200, "text/html"), (404, "application/json"), (418, "")):
        answer = httpx.Response(status, headers={"content-type": media_type}, request=request)
        with pytest.raises(AssertionError, match="GET /v1/jobs/none/events"):
            conformance.check(answer)
