"""A call of the HTTP API: the request to send and how to read the response.

Both clients use these calls, which open no connection themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import httpx

from ipulse_core import strict_json
from ipulse_core.errors import InvalidJSON, RemoteError

from .problems import error_in

T = TypeVar("T")

JSON_CONTENT = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class APICall(Generic[T]):
    """One request, and a function that reads its response.

    Its answer may begin after `timeout` seconds; None: after those of the connection. The content
    is iterated again when the call is repeated.
    """

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    params: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | Iterable[bytes] | None = None
    timeout: float | None = None

    def answer(self, response: httpx.Response) -> T:
        """Return the result in a response. Raises the error that the response reports."""
        if response.status_code >= 400:
            raise error_in(response)
        try:
            return self.read(response)
        except (InvalidJSON, KeyError, TypeError, ValueError) as error:
            raise _not_understood(response) from error


def object_in(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object in a response. Raises InvalidJSON, or TypeError for another value."""
    value = strict_json.loads(response.content)
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def _not_understood(response: httpx.Response) -> RemoteError:
    return RemoteError(
        f"{response.request.method} {response.request.url.path} has a response that this client "
        "cannot read: do client and service have the same version?",
        status=response.status_code,
    )
