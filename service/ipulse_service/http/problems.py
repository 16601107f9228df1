"""Errors as RFC 9457 problem documents. Lower layers raise; only this file knows HTTP's numbers."""

from __future__ import annotations

import http
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from ipulse_core import errors, strict_json
from ipulse_core.errors import InvalidInput, IPUlseError, Problem
from ipulse_service.http import etags
from ipulse_service.http import log_context as log
from ipulse_service.jobs.submission import KeyInUse

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 2  # after which somebody refused for want of a part may ask again


class InvalidParameter(InvalidInput):
    """A parameter of the request is not valid."""

    code = "invalid_parameter"


class TooLarge(InvalidInput):
    """The body is larger than this service reads."""

    code = "too_large"


class WrongMediaType(InvalidInput):
    """The body must be JSON: Content-Type: application/json."""

    code = "unsupported_media_type"


class WrongHost(InvalidInput):
    """This service does not answer under that name."""

    code = "wrong_host"


class TooManyRequests(IPUlseError):
    """This token has too many requests under way; end some of them, or wait."""

    code = "too_many_requests"


class RangeNotSatisfiable(IPUlseError):
    """Ask for one range of bytes that the file has."""

    code = "range_not_satisfiable"

    def __init__(self, size: int) -> None:
        self.size = size  # bytes, of the whole file
        super().__init__()


# The first class that an error is an instance of decides.
_STATUS: tuple[tuple[type[IPUlseError], int], ...] = (
    (errors.InvalidJSON, 400),
    (InvalidParameter, 400),
    (WrongHost, 400),
    (TooLarge, 413),
    (WrongMediaType, 415),
    (RangeNotSatisfiable, 416),
    (etags.Changed, 412),
    (errors.InvalidInput, 422),
    (errors.NotAuthenticated, 401),
    (errors.NotPermitted, 403),
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (TooManyRequests, 429),
    (errors.Unavailable, 503),
)

_log = logging.getLogger(__name__)


def response(instance: str, error: IPUlseError) -> JSONResponse:
    """The problem document of an error of ours; `instance` is the path that was asked for."""
    status = next((number for cls, number in _STATUS if isinstance(error, cls)), 500)
    headers = {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status in (429, 503) or isinstance(error, KeyInUse):
        headers["retry-after"] = str(RETRY_SECONDS)
    if status == 503:
        _log.warning("unavailable", extra={"error": error.message, "cause": str(error.__cause__)})
    if isinstance(error, RangeNotSatisfiable):
        headers["content-range"] = f"bytes */{error.size}"
    found = error.problems if isinstance(error, InvalidInput) else ()
    return document(instance, status, error.code, error.message, found, headers)


def document(
    instance: str,
    status: int,
    code: str,
    detail: str,
    found: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """A problem document. A client may rely on `code` and on each problem's pointer and code."""
    content: dict[str, Any] = {
        "type": f"urn:ipulse:problem:{code}",
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": instance,
        "code": code,
        "request_id": log.request_id.get(),
        "errors": [problem.to_json() for problem in found],
    }
    return JSONResponse(content, status, headers, MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Makes problem documents of everything that a route may raise and foresees."""

    async def ours(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, IPUlseError)  # noqa: S101 - what it was registered for
        return response(request.scope["path"], error)

    async def of_framework(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101 - what it was registered for
        phrase = http.HTTPStatus(error.status_code).phrase
        code = phrase.lower().replace(" ", "_").replace("-", "_")
        path = request.scope["path"]
        detail = error.detail
        if error.status_code == http.HTTPStatus.NOT_FOUND:  # of an address that no route has
            detail = f"nothing is at {path[:100]}: jobs are at /v1/jobs, the rest in /openapi.json"
        return document(path, error.status_code, code, detail, (), error.headers)

    async def of_parameters(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101 - what it was registered for
        found = [_parameter_problem(item) for item in error.errors()]
        return response(request.scope["path"], InvalidParameter(found))

    app.add_exception_handler(IPUlseError, ours)
    app.add_exception_handler(HTTPException, of_framework)
    app.add_exception_handler(RequestValidationError, of_parameters)


def _parameter_problem(item: Mapping[str, Any]) -> Problem:
    place, *rest = item["loc"]
    pointer = "".join(f"/{strict_json.escape(str(part))}" for part in (place, *rest))
    return Problem(pointer[:200], str(item["type"]), str(item["msg"]))
