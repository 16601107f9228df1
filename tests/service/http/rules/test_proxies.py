"""Only trusted proxies say by which scheme and below which path the service is shown."""

from __future__ import annotations

import asyncio
from ipaddress import ip_network

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ipulse_service.http.server.proxies import ProxyMiddleware, address_of

HERE, ELSEWHERE = "127.0.0.1", "192.0.2.7"


async def created(scope: Scope, _receive: Receive, send: Send) -> None:
    location = scope["path"].encode() + b"/job_1"
    await send({"type": "http.response.start", "status": 202, "headers": [(b"location", location)]})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(
    ("client", "path", "headers", "location"),
    [
        (HERE, "/v1/jobs", {"x-forwarded-prefix": "/ipulse/"}, "/ipulse/v1/jobs/job_1"),
        (HERE, "/a/b/v1/jobs", {"x-forwarded-context": "/a/b"}, "/a/b/v1/jobs/job_1"),
        (HERE, "/v1/jobs", {}, "/v1/jobs/job_1"),
        (ELSEWHERE, "/v1/jobs", {"x-forwarded-prefix": "/ipulse"}, "/v1/jobs/job_1"),
        (HERE, "/v1/jobs", {"x-forwarded-prefix": "//evil.example"}, "/v1/jobs/job_1"),
        (HERE, "/v1/jobs", {"x-forwarded-prefix": "https://evil.example"}, "/v1/jobs/job_1"),
        (HERE, "/v1/jobs", {"x-forwarded-prefix": "/a/../b"}, "/v1/jobs/job_1"),
    ],
)
def test_a_prefix_counts_from_a_trusted_proxy(
    client: str, path: str, headers: dict[str, str], location: str
) -> None:
    assert answer(created, client, path, headers).headers["location"] == location


async def address(scope: Scope, receive: Receive, send: Send) -> None:
    seen = address_of(Request(scope), "/device")
    await PlainTextResponse(seen)(scope, receive, send)


@pytest.mark.parametrize(
    ("client", "headers", "expected"),
    [
        (HERE, {"x-forwarded-proto": "https"}, "https://service/device"),
        (
            HERE,
            {"x-forwarded-proto": "https", "x-forwarded-prefix": "/ipulse"},
            "https://service/ipulse/device",
        ),
        (HERE, {"x-forwarded-proto": "javascript"}, "http://service/device"),
        (ELSEWHERE, {"x-forwarded-proto": "https"}, "http://service/device"),
    ],
)
def test_an_address_is_the_one_that_a_client_sees(
    client: str, headers: dict[str, str], expected: str
) -> None:
    assert answer(address, client, "/", headers).text == expected


def answer(app: ASGIApp, client: str, path: str, headers: dict[str, str]) -> httpx.Response:
    behind = ProxyMiddleware(app, [ip_network("127.0.0.0/8")])
    transport = httpx.ASGITransport(behind, client=(client, 1))

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as asker:
            return await asker.post(path, headers=headers)

    return asyncio.run(ask())
