"""Rules of HTTP itself (RFC 9110 and 9112), on every resource that the service has."""

from __future__ import annotations

import json
import socket
from contextlib import closing

import httpx
import pytest

from tests.service import conformance
from tests.service.http.rules.resources import CONTENT, Resources
from tests.service.running import InProcess

# These headers differ from one response to the next.
PASSING = {"date", "x-request-id"}
QUERIES = {"/v1/worker/wakeups": {"agent": "b.bin", "kind": "cpu"}}  # required ones
# The attempt needs no such file, no such op was pushed, the file is no network, and the job has
# no profile of tiles; signing in with a provider sends the browser on.
OTHERS = {
    "/start-file": 404,
    "/dataset": 404,
    "0" * 64: 404,
    "/network": 422,
    "/profiles:copies": 404,
    "/v1/auth/login": 303,
    "/v1/auth/callback": 303,
}


def request(
    service: InProcess, resources: Resources, method: str, path: str, **headers: str
) -> httpx.Response:
    client = service.user
    if path.startswith("/v1/worker/"):
        client = service.worker
        headers["ipulse-fence"] = resources.attempt.fence
    query = QUERIES.get(path)
    if path == "/v1/metrics":
        query = {"jobs": resources.attempt.claim["job_id"]}
    if path == "/v1/profiles:diff":
        query = dict.fromkeys("ab", resources.finished)
    if path == "/v1/profiles:copies":
        query = {"job": resources.finished}
    return client.request(method, path, headers=headers, params=query)


def raw(service: InProcess, message: str) -> list[tuple[int, dict[str, str], bytes]]:
    """Sends bytes on one connection; returns status, headers and body of each response."""
    address = (service.user.base_url.host, service.user.base_url.port or 0)
    answers = []
    with closing(socket.create_connection(address, timeout=30)) as connection:
        connection.sendall(message.encode("latin-1"))
        file = connection.makefile("rb")
        while status := file.readline():
            headers = {}
            while (line := file.readline().strip()) != b"":
                name, _, value = line.decode().partition(":")
                headers[name.lower()] = value.strip()
            body = file.read(int(headers.get("content-length", 0)))
            answers.append((int(status.split()[1]), headers, body))
    return answers


def authorised(service: InProcess) -> str:
    return f"Authorization: {service.user.headers['authorization']}\r\n"


def test_a_refused_method_names_all_that_the_resource_has(
    service: InProcess, resources: Resources
) -> None:
    for path, methods in resources.methods.items():
        answer = request(service, resources, "PROPFIND", path)
        assert answer.status_code == 405, path
        # A name may look like one with an action: {name} and {name}:drain.
        same = conformance.operations_at(path) or [dict.fromkeys(methods)]
        expected = {method.upper() for item in same for method in item}
        allowed = set(answer.headers["allow"].split(", "))
        assert allowed == (expected | {"HEAD"} if "GET" in expected else expected), path


def test_head_is_answered_as_get_without_a_body(service: InProcess, resources: Resources) -> None:
    assert len(resources.readable) > 15
    for path in resources.readable:
        got = request(service, resources, "GET", path)
        head = request(service, resources, "HEAD", path)
        there = next((code for end, code in OTHERS.items() if path.endswith(end)), 200)
        assert head.status_code == got.status_code == there, path
        assert head.content == b"", path
        if path == "/metrics":  # it counts these requests
            continue
        if "HEAD" in resources.methods[path]:  # an operation of its own, described as such
            assert head.headers["upload-offset"] == str(got.json()["offset"])
            continue
        shown = {name: value for name, value in head.headers.items() if name not in PASSING}
        expected = {name: value for name, value in got.headers.items() if name not in PASSING}
        assert shown == expected, path


def test_head_of_a_stream_that_goes_on_is_answered_at_once(
    service: InProcess, resources: Resources
) -> None:
    path = f"/v1/jobs/{service.submit()['id']}/events"
    for url, headers in ((f"{path}/stream", {}), (path, {"accept": "text/event-stream"})):
        answer = service.user.head(url, headers=headers)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
    assert service.user.head("/healthz").status_code == 200  # on the same connection


def test_head_is_refused_where_get_is(service: InProcess, resources: Resources) -> None:
    assert service.user.head("/v1/jobs/none").status_code == 404
    answer = service.user.head("/v1/jobs:validate")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    with service.client() as nobody:
        assert nobody.head("/v1/jobs").status_code == 401


def test_ranges_are_for_get_only(service: InProcess, resources: Resources) -> None:
    files = [path for path in resources.readable if path.endswith(("/content", "/profile"))]
    assert len(files) == 3
    for name in files:
        whole = service.user.get(name).headers["content-length"]
        head = service.user.head(name, headers={"range": "bytes=0-0"})
        assert head.status_code == 200
        assert head.headers["content-length"] == whole
        assert "content-range" not in head.headers
        assert service.user.get(name, headers={"range": "bytes=0-0"}).status_code == 206


def test_a_range_may_end_anywhere_beyond_the_file(service: InProcess, resources: Resources) -> None:
    [path] = [
        path
        for path in resources.readable
        if path.startswith("/v1/jobs/") and path.endswith("/content")
    ]
    for last in ("99999999999999999999", "9" * 5000, "0" * 30 + "7"):
        part = service.user.get(path, headers={"range": f"bytes=2-{last}"})
        assert part.status_code == 206
        assert part.content == CONTENT[2 : min(10, int(last[-20:]) + 1)]
    whole = service.user.get(path, headers={"range": "bytes=-" + "9" * 30})
    assert (whole.status_code, whole.content) == (206, CONTENT)
    beyond = service.user.get(path, headers={"range": "bytes=99999999999999999999-"})
    assert beyond.status_code == 416


@pytest.mark.parametrize("path", ["/v1/jobs", "/healthz", "/nowhere"])
def test_a_body_of_two_lengths_is_refused_and_nothing_after_it_is_read(
    service: InProcess, path: str
) -> None:
    smuggled = f"DELETE /v1/jobs/x HTTP/1.1\r\nHost: localhost\r\n{authorised(service)}\r\n"
    [(status, headers, body)] = raw(
        service,
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{authorised(service)}"
        "Content-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        f"0\r\n\r\n{smuggled}",
    )
    assert (status, headers["connection"]) == (400, "close")
    assert json.loads(body)["code"] == "ambiguous_length"


def test_a_body_in_chunks_is_read_without_a_length(service: InProcess) -> None:
    answer = service.user.post("/v1/jobs:validate", content=iter([b"{", b"}"]))
    assert answer.status_code == 415  # the body was read: its media type is missing
    [(status, headers, _)] = raw(
        service,
        f"POST /v1/jobs HTTP/1.0\r\nHost: localhost\r\n{authorised(service)}"
        "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    )
    assert (status, headers["connection"]) == (400, "close")


def test_a_target_may_be_a_whole_url(service: InProcess, resources: Resources) -> None:
    close = "Connection: close\r\n\r\n"
    for url in (service.url, service.url.replace("http:", "HTTP:")):
        [(status, _, body)] = raw(
            service,
            f"GET {url}/v1/jobs?page_size=1 HTTP/1.1\r\nHost: ignored.example\r\n"
            f"{authorised(service)}{close}",
        )
        assert status == 200
        assert len(json.loads(body)["jobs"]) == 1
    [(status, headers, _)] = raw(
        service, f"HEAD {service.url} HTTP/1.1\r\nHost: localhost\r\n{close}"
    )
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    # The Host header does not count, so that it cannot hide another name.
    [(status, _, body)] = raw(
        service,
        f"GET http://rebound.example/v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
        f"{authorised(service)}{close}",
    )
    assert (status, json.loads(body)["code"]) == (400, "wrong_host")
