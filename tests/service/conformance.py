"""Compares every answer that a test gets with what the OpenAPI document says about it."""

from __future__ import annotations

import functools
import re
from fnmatch import fnmatch
from typing import Any

import httpx

from ipulse_service.documentation import document


def check(response: httpx.Response) -> None:
    """Asserts that status and media type of an answer are among those of its operation."""
    request = response.request
    operation = operation_of(request.method, request.url.raw_path.decode().partition("?")[0])
    if operation is None:
        return
    if response.status_code == 405:
        return  # of the resource, not of an operation
    place = f"{request.method} {request.url.path}: {response.status_code}"
    described = operation["responses"].get(str(response.status_code))
    assert described is not None, f"{place} is not in the OpenAPI document"
    content = described.get("content", {})
    media_type = response.headers.get("content-type", "").partition(";")[0]
    if response.status_code in (204, 303, 304, 307):
        assert not content, f"{place} has no body"
    elif request.method != "HEAD" or content:
        assert any(fnmatch(media_type, name) for name in content), f"{place} has {media_type}"
    for name, header in described.get("headers", {}).items():
        assert name in response.headers or not header.get("required"), f"{place} lacks {name}"


def operation_of(method: str, path: str) -> dict[str, Any] | None:
    """Returns the operation of a request; HEAD is described by GET where it has none itself."""
    items = operations_at(path)
    names = (method.lower(), "get") if method == "HEAD" else (method.lower(),)
    found: list[dict[str, Any]] = [item[name] for name in names for item in items if name in item]
    return found[0] if found else None


def operations_at(path: str) -> list[dict[str, Any]]:
    """Returns the operations by method of every template that a path matches."""
    return [item for pattern, item in paths() if pattern.fullmatch(path)]


@functools.cache
def described() -> dict[str, Any]:
    """Returns the document, which takes a second to make; no setting of a service changes it."""
    return document()


@functools.cache
def paths() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    return [
        (re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), item)
        for path, item in described()["paths"].items()
    ]
