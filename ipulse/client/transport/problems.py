"""Error responses as errors of ipulse_core.errors; messages never contain the token."""

from __future__ import annotations

from typing import Any

import httpx

from ipulse.nir_errors import NirAmbiguous, NirChoice, NirInvalid
from ipulse_core import errors, strict_json
from ipulse_core.errors import InvalidInput, InvalidJSON, IPUlseError, Problem, RemoteError

PROBLEM = "application/problem+json"

_BY_CODE: dict[str, type[IPUlseError]] = {
    cls.code: cls
    for cls in vars(errors).values()
    if isinstance(cls, type) and issubclass(cls, IPUlseError)
}
_BY_CODE[NirInvalid.code] = NirInvalid
_BY_STATUS: dict[int, type[IPUlseError]] = {
    400: InvalidInput,
    401: errors.NotAuthenticated,
    403: errors.NotPermitted,
    404: errors.NotFound,
    409: errors.Conflict,
    413: InvalidInput,
    415: InvalidInput,
    422: InvalidInput,
    503: errors.Unavailable,
}


def error_in(response: httpx.Response) -> IPUlseError:
    """Return the error that a response with a status of 400 or more reports."""
    if response.headers.get("content-type", "").split(";")[0].strip() != PROBLEM:
        return _not_ours(response)
    try:
        problem = strict_json.loads(response.content)
    except InvalidJSON:
        return _not_ours(response)
    if not isinstance(problem, dict):
        return _not_ours(response)
    return _error_of(problem, response.status_code)


def _error_of(problem: dict[str, Any], status: int) -> IPUlseError:
    code = str(problem.get("code", ""))
    detail = str(problem.get("detail") or problem.get("title") or f"HTTP {status}")
    if code == NirAmbiguous.code:
        return NirAmbiguous(_problems_in(problem), detail, _choices_in(problem))
    cls = _BY_CODE.get(code) or _BY_STATUS.get(status, RemoteError)
    if issubclass(cls, InvalidInput):
        return cls(_problems_in(problem) or [Problem("", code or "invalid", detail)], detail)
    if cls is RemoteError or cls is IPUlseError:
        request = problem.get("request_id")
        where = f" (HTTP {status}, request {request})" if request else f" (HTTP {status})"
        return RemoteError(detail + where, status=status, remote_code=code)
    return cls(detail)


def _problems_in(problem: dict[str, Any]) -> list[Problem]:
    listed = problem.get("errors")
    return [
        Problem(
            str(item.get("pointer", "")), str(item.get("code", "")), str(item.get("detail", ""))
        )
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, dict)
    ]


def _choices_in(problem: dict[str, Any]) -> list[NirChoice]:
    listed = problem.get("choices")
    return [
        NirChoice(
            {str(name): str(value) for name, value in item["options"].items()},
            str(item.get("meaning", "")),
        )
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, dict) and isinstance(item.get("options"), dict)
    ]


def _not_ours(response: httpx.Response) -> RemoteError:
    origin = f"{response.request.url.scheme}://{response.request.url.netloc.decode('ascii')}"
    return RemoteError(
        f"{origin} answered HTTP {response.status_code}, but not as an IPUlse service; "
        "is this the right address?",
        status=response.status_code,
    )
