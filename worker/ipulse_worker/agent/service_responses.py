"""Responses of the service: a JSON object, or one exception for each kind of refusal."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from ipulse_core import strict_json
from ipulse_core.errors import (
    Conflict,
    InvalidJSON,
    IPUlseError,
    NotAuthenticated,
    NotFound,
    NotPermitted,
    RemoteError,
    StaleToken,
    Unavailable,
)
from ipulse_core.states import Reason


class ClaimRefused(Conflict):
    """The job belongs to another attempt, is not due yet, or has ended."""

    code = "not_claimable"


class SessionRefused(NotPermitted):
    """Another process with this agent's token came later."""

    code = "agent_replaced"


class AgentTokenExpired(NotAuthenticated):
    """This agent was away for longer than its token is valid; it may renew it."""

    code = "token_expired"


class DrainRefused(Conflict):
    """This agent drains: it may claim no jobs."""

    code = "agent_draining"


class ProtocolRefused(IPUlseError):
    """This agent is too old or too new for the service; the message says which to upgrade."""

    code = "wrong_protocol"


class ServiceUnavailable(Unavailable):
    """The service cannot be reached, or cannot answer now; a later try may succeed."""

    def __init__(
        self,
        message: str,
        retry_after: float = 0.0,
        remote_code: str = "",
        *,
        is_away: bool = False,
    ) -> None:
        self.is_away = is_away  # nothing answers, or only something on the way
        self.retry_after = retry_after  # seconds
        self.remote_code = remote_code  # names the failing part, if the service says so
        super().__init__(message)


_BY_CODE: dict[str, type[IPUlseError]] = {
    **{
        refusal.code: refusal
        for refusal in (
            StaleToken,
            ClaimRefused,
            ProtocolRefused,
            DrainRefused,
            SessionRefused,
            AgentTokenExpired,
        )
    },
    "wrong_offset": ServiceUnavailable,  # another try has sent more meanwhile
}
_BY_STATUS: dict[int, type[IPUlseError]] = {
    401: NotAuthenticated,
    403: NotPermitted,
    404: NotFound,
}


# The answers of an overloaded or stopping service, and of a proxy in front of one that is away.
_AWAY = (429, 502, 503, 504)


def object_in(response: httpx.Response, path: str) -> dict[str, Any]:
    """Return the JSON object in a response. Raises RemoteError for anything else."""
    try:
        answer = strict_json.loads(response.content)
    except InvalidJSON as error:
        raise RemoteError(f"{path} did not answer with JSON: is this an IPUlse service?") from error
    if not isinstance(answer, dict):
        raise RemoteError(f"{path} did not answer with a JSON object")
    return answer


@contextmanager
def understood(what: str) -> Iterator[None]:
    """Turn errors of reading a response's fields into RemoteError."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise RemoteError(f"the response to {what} has an unexpected form: {error!r}") from error


def unreachable(error: httpx.TransportError) -> ServiceUnavailable:
    """Return the error for a failed connection."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ServiceUnavailable(
                "the service shows a certificate that this agent does not trust "
                f"({cause.verify_message}): if it has a new one, join again"
            )
        cause = cause.__cause__ or cause.__context__
    return ServiceUnavailable(
        f"the service cannot be reached: {type(error).__name__}: {error}", is_away=True
    )


def raise_refusal(response: httpx.Response) -> None:
    """Raise the error that a response stands for, unless it is a success."""
    status = response.status_code
    if response.is_success or status == httpx.codes.NOT_MODIFIED:
        return
    problem = _problem_in(response)
    code, detail = str(problem.get("code", "")), str(problem.get("detail", f"HTTP {status}"))
    if status >= 500 or status == 429:
        is_away = status in _AWAY and code != Reason.ARTIFACT_STORE.value
        raise ServiceUnavailable(detail, _retry_after(response), code, is_away=is_away)
    known = _BY_CODE.get(code) or _BY_STATUS.get(status)
    if known is NotAuthenticated and code == NotAuthenticated.code:
        raise NotAuthenticated("the service does not know this agent's token")
    if known is not None:
        raise known(detail)
    raise RemoteError(detail, status=status, remote_code=code)


def _problem_in(response: httpx.Response) -> dict[str, Any]:
    try:
        problem = strict_json.loads(response.content)
    except InvalidJSON:
        return {}
    return problem if isinstance(problem, dict) else {}


def _retry_after(response: httpx.Response) -> float:
    value = response.headers.get("Retry-After", "0")
    return float(value) if value.isdigit() else 0.0
