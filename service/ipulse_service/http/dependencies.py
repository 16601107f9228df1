"""Parameters and dependencies that several routes share."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request, Response
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from ipulse_core import messages
from ipulse_service.agents import versions
from ipulse_service.http.caller import Caller
from ipulse_service.http.server.lanes import is_of_agents, is_submission
from ipulse_service.http.state import AppState, get_caller, get_state
from ipulse_service.jobs.search.values import zone_of

MAX_WAIT_SECONDS = 30  # of most responses that wait for a change

_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?")
_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9:.]+([Zz]|[+-][0-9]{2}:[0-9]{2})?)?", re.ASCII
)
_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?([0-9]{1,9})\"?\s*(?:[,;]|$)", re.IGNORECASE)


def written_as(form: re.Pattern[str], code: str, detail: str) -> BeforeValidator:
    """Returns a check of a parameter's text: pydantic's conversion takes many more forms."""

    def check(value: Any) -> Any:
        if isinstance(value, str) and not form.fullmatch(value):
            raise PydanticCustomError(code, "{detail}", {"detail": detail})
        return value

    return BeforeValidator(check)


# The last metadata of an integer or a time in a query or header; limits come before it.
DIGITS = written_as(_INTEGER, "int_parsing", "must be an integer in decimal digits, such as 20")
NUMBER = written_as(_NUMBER, "float_parsing", "must be a number, such as 12.5")
RFC3339 = written_as(
    _RFC3339, "datetime_parsing", "must be a time such as 2026-01-31T12:00:00Z (RFC 3339)"
)


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _known_zone(name: str) -> str:
    try:
        zone_of(name)
    except ValueError as error:
        raise PydanticCustomError("unknown_time_zone", "{why}", {"why": str(error)}) from None
    return name


UTCTime = Annotated[datetime, AfterValidator(_in_utc), RFC3339]  # without an offset it is UTC
TimeZone = Annotated[str, Field(max_length=64), AfterValidator(_known_zone)]
TIME_ZONE_ABOUT = (
    "Zone of times in `q` that have none: a name such as `Asia/Kolkata`, or an offset such as "
    "`+05:30`."
)


def wait_up_to(longest: int) -> Callable[[Response, str], Awaitable[int]]:
    """Returns a dependency: the N of `Prefer: wait=N` (RFC 7240), at most `longest`, else 0.

    It confirms the preference in a header of the response.
    """
    meaning = f"`wait=N`: wait up to N seconds, at most {longest}."

    async def wait_seconds(
        response: Response,
        prefer: str = Header(default="", description=meaning),
    ) -> int:
        match = _WAIT.search(prefer)
        if match is None:
            return 0
        seconds = min(int(match.group(1)), longest)
        response.headers["preference-applied"] = f"wait={seconds}"
        return seconds

    return wait_seconds


async def in_turn_of_caller(request: Request) -> AsyncIterator[None]:
    """Waits for the caller's turn if the endpoint runs in a thread; a dependency of all routes.

    A submission has had its turn before.
    """
    caller: Caller | None = getattr(request.state, "caller", None)
    path = request.scope["path"]
    if (
        caller is None
        or is_of_agents(path)
        or is_submission(request.method, path)
        or inspect.iscoroutinefunction(request.scope["endpoint"])
    ):
        yield
        return
    state: AppState = request.app.state.services
    async with state.lanes.endpoint_turns.turn(caller.name):
        yield


State = Annotated[AppState, Depends(get_state)]
CurrentCaller = Annotated[Caller, Depends(get_caller)]
WaitSeconds = Annotated[int, Depends(wait_up_to(MAX_WAIT_SECONDS))]

JobId = Annotated[str, Path(description="The job's id.")]
Fence = Annotated[
    str,
    Header(alias=messages.FENCE_HEADER, max_length=128, description="The attempt's fencing token."),
]


AttemptId = Annotated[str, Path(description="The attempt's id.")]
AgentSession = Annotated[
    str,
    Header(
        alias=messages.SESSION_HEADER,
        max_length=64,
        description="A random text of the agent's process. Of two with one token the later works.",
    ),
]
IfMatch = Annotated[str | None, Header(description="Change it only if its ETag is this one.")]
IfStillMatch = Annotated[
    str | None,
    Header(alias="if-match", description="Answer 412 unless the ETag is this one."),
]
IfNoneMatch = Annotated[str | None, Header(description="Answer 304 if the ETag is still this one.")]

Protocol = Annotated[
    int,
    Field(ge=1, le=10**6),
    DIGITS,
    Header(
        alias=messages.PROTOCOL_HEADER,
        description=f"The protocol that the agent uses; this service has {messages.PROTOCOL}.",
    ),
]


async def _check_agent(spoken: Protocol = 1) -> None:
    versions.check(spoken)


async def _check_upload(spoken: Protocol = 1) -> None:
    versions.check_upload(spoken)


# Dependencies of routes that only agents of a known version may use.
KNOWN_AGENT = [Depends(_check_agent)]
KNOWN_UPLOAD = [Depends(_check_upload)]
