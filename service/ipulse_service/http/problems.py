"""Errors as RFC 9457 problem documents.

Lower layers raise errors of the project; only this module knows their HTTP status codes.
"""

from __future__ import annotations

import http
import logging
from collections.abc import Mapping, Sequence
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from ipulse.nir_errors import NirAmbiguous, NirChoice
from ipulse_core import errors, strict_json
from ipulse_core.errors import InvalidInput, IPUlseError, Problem
from ipulse_service.http import etags, methods
from ipulse_service.http import log_context as log
from ipulse_service.jobs.idempotency import KeyInUse

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 2  # Retry-After of a request that was refused for a passing reason


class InvalidParameter(InvalidInput):
    """A parameter of the request is not valid."""

    code = "invalid_parameter"


class TooLarge(InvalidInput):
    """The body is too large."""

    code = "too_large"


class WrongMediaType(InvalidInput):
    """The body must be JSON: Content-Type: application/json."""

    code = "unsupported_media_type"


class AmbiguousLength(InvalidInput):
    """The length of the body is ambiguous: send either Content-Length or Transfer-Encoding."""

    code = "ambiguous_length"


class WrongHost(InvalidInput):
    """This service does not answer under that name."""

    code = "wrong_host"


class TooManyRequests(IPUlseError):
    """This token has too many requests in progress; end some of them, or wait."""

    code = "too_many_requests"


class TooFrequent(TooManyRequests):
    """This caller sends requests too often; wait, and submit many jobs with one request."""

    code = "too_frequent"


class TooSlow(IPUlseError):
    """The request took too long to arrive; send it without pauses."""

    code = "too_slow"


class RangeNotSatisfiable(IPUlseError):
    """The Range header must name one range of bytes within the file."""

    code = "range_not_satisfiable"

    def __init__(self, size: int) -> None:
        self.size = size  # bytes, of the whole file
        super().__init__()


# The first class that an error is an instance of decides.
_STATUS: tuple[tuple[type[IPUlseError], int], ...] = (
    (errors.InvalidJSON, 400),
    (InvalidParameter, 400),
    (WrongHost, 400),
    (AmbiguousLength, 400),
    (TooSlow, 408),
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

_DESCRIPTIONS: dict[int | str, str] = {
    400: "The JSON, a parameter or the Host header is not valid.",
    401: "The token is missing or not valid.",
    403: "The token's role does not permit this request.",
    404: "There is no such object.",
    409: "The request conflicts with the present state.",
    412: "The job is no longer in the version that If-Match names.",
    413: "The body is too large.",
    415: "The body is not JSON, or it is compressed.",
    416: "The file does not have these bytes.",
    422: "The body is JSON, but its content is not valid.",
    429: "The caller has too many requests in progress, or sends them too often.",
    "4XX": "The request is refused; `code` says why.",
    500: "An unexpected error; the service's log has it under `request_id`.",
    503: "The database, the artifact store or the broker is not available.",
}
_log = logging.getLogger(__name__)

# Every route may answer these. "4XX" also keeps FastAPI from adding a 422 in its own format.
COMMON = (400, 401, 403, 429, "4XX", 500, 503)


def documented(*statuses: int | str) -> dict[int | str, dict[str, Any]]:
    """Returns how the OpenAPI document describes these error responses of a route."""
    schema = {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}
    described: dict[int | str, dict[str, Any]] = {}
    for status in statuses:
        described[status] = {
            "description": _DESCRIPTIONS[status],
            "content": {MEDIA_TYPE: schema},
        }
        if status in (429, 503):
            described[status]["headers"] = {
                "Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}
            }
    return described


def response(instance: str, error: IPUlseError) -> JSONResponse:
    """Returns the problem document of an error; `instance` is the path of the request."""
    status = next((number for cls, number in _STATUS if isinstance(error, cls)), 500)
    headers = {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status == 408:
        headers["connection"] = "close"  # the rest of the request may still come
    if status in (429, 503) or isinstance(error, KeyInUse):
        headers["retry-after"] = str(RETRY_SECONDS)
    if status == 503:
        _log.warning("unavailable", extra={"error": error.message, "cause": str(error.__cause__)})
    if isinstance(error, RangeNotSatisfiable):
        headers["content-range"] = f"bytes */{error.size}"
    problems = error.problems if isinstance(error, InvalidInput) else ()
    choices = error.choices if isinstance(error, NirAmbiguous) else ()
    return document(instance, status, error.code, error.message, problems, headers, choices)


def document(
    instance: str,
    status: int,
    code: str,
    detail: str,
    problems: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
    choices: Sequence[NirChoice] = (),
) -> JSONResponse:
    """Returns a problem document.

    Clients may rely on `code` and on the pointer and the code of each problem.
    """
    content: dict[str, Any] = {
        "type": f"urn:ipulse:problem:{code}",
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": instance,
        "code": code,
        "request_id": log.request_id.get(),
        "errors": [problem.to_json() for problem in problems],
    }
    if choices:
        content["choices"] = [choice._asdict() for choice in choices]
    return JSONResponse(content, status, headers, MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Makes the application answer every error that it can raise with a problem document."""
    app.add_exception_handler(IPUlseError, _on_project_error)
    app.add_exception_handler(HTTPException, _on_framework_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)


async def _on_project_error(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, errors.NotPermitted):
        await request.app.state.services.denials.note(request, error)
    return response(request.scope["path"], cast(IPUlseError, error))


async def _on_framework_error(request: Request, error: Exception) -> JSONResponse:
    error = cast(HTTPException, error)
    path = request.scope["path"]
    # FastAPI wraps what is raised while it reads the body.
    if isinstance(error.__cause__, IPUlseError):
        return response(path, error.__cause__)
    if isinstance(error.__cause__, ClientDisconnect):
        raise error.__cause__
    headers = error.headers
    if error.status_code == http.HTTPStatus.METHOD_NOT_ALLOWED:
        # The framework's names the methods of one route; a path may have several.
        headers = {"allow": ", ".join(methods.allowed_methods(request.scope))}
    phrase = http.HTTPStatus(error.status_code).phrase
    code = phrase.lower().replace(" ", "_").replace("-", "_")
    detail = error.detail
    if error.status_code == http.HTTPStatus.NOT_FOUND:  # no route has this path
        detail = (
            f"there is nothing at {path[:100]}: jobs are at /v1/jobs, "
            "and /openapi.json lists all paths"
        )
    return document(path, error.status_code, code, detail, (), headers)


async def _on_validation_error(request: Request, error: Exception) -> JSONResponse:
    problems = [_parameter_problem(line) for line in cast(RequestValidationError, error).errors()]
    return response(request.scope["path"], InvalidParameter(problems))


def _parameter_problem(item: Mapping[str, Any]) -> Problem:
    place, *rest = item["loc"]
    pointer = "".join(f"/{strict_json.escape(str(part))}" for part in (place, *rest))
    return Problem(pointer[:200], str(item["type"]), str(item["msg"]))
