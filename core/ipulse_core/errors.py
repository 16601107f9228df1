"""One error tree; every class has a stable code, and its docstring is its default message.

IPUlseError
├── InvalidInput          invalid_input        problems with their places (JSON pointers)
│   ├── InvalidJSON       invalid_json
│   └── InvalidSpec       invalid_spec
├── NotFound              not_found
├── Conflict              conflict
│   ├── StaleToken        stale_token          the attempt was superseded
│   └── IllegalTransition illegal_transition
├── NotAuthenticated      not_authenticated
├── NotPermitted          not_permitted
├── Unavailable           unavailable          something needed is not there now
│   └── MissingDependency missing_dependency   something needed is not installed
└── RemoteError           remote_error         the service answered with a problem of its own
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Dict, Optional, Sequence, Tuple

__all__ = [
    "Conflict",
    "IPUlseError",
    "IllegalTransition",
    "InvalidInput",
    "InvalidJSON",
    "InvalidSpec",
    "MissingDependency",
    "NotAuthenticated",
    "NotFound",
    "NotPermitted",
    "Problem",
    "RemoteError",
    "StaleToken",
    "Unavailable",
]


@dataclass(frozen=True)
class Problem:
    """One thing wrong with an input, and where: `pointer` is an RFC 6901 JSON pointer."""

    pointer: str
    code: str
    detail: str

    def to_json(self) -> Dict[str, str]:
        return {"pointer": self.pointer, "code": self.code, "detail": self.detail}

    def __str__(self) -> str:
        return f"{self.pointer or '(the document)'}: {self.detail}"


class IPUlseError(Exception):
    """Something went wrong in IPUlse."""

    code: ClassVar[str] = "error"

    def __init__(self, message: Optional[str] = None) -> None:
        self.message = message if message is not None else (type(self).__doc__ or "").strip()
        super().__init__(self.message)


class InvalidInput(IPUlseError):
    """The input is not valid."""

    code = "invalid_input"

    def __init__(self, problems: Sequence[Problem], message: Optional[str] = None) -> None:
        self.problems: Tuple[Problem, ...] = tuple(problems)
        super().__init__(message)

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"  {problem}" for problem in self.problems)])


class InvalidJSON(InvalidInput):
    """The document is not valid JSON."""

    code = "invalid_json"


class InvalidSpec(InvalidInput):
    """The experiment spec is not valid."""

    code = "invalid_spec"


class NotFound(IPUlseError):
    """There is no such thing, or this token may not see it."""

    code = "not_found"


class Conflict(IPUlseError):
    """The request does not fit the present state."""

    code = "conflict"


class StaleToken(Conflict):
    """This attempt no longer holds the job: its lease expired and another may have begun."""

    code = "stale_token"


class IllegalTransition(Conflict):
    """A job cannot go from its present state to the one asked for."""

    code = "illegal_transition"


class NotAuthenticated(IPUlseError):
    """A valid bearer token is needed: pass the content of the token file that `ipulse up` wrote."""

    code = "not_authenticated"


class NotPermitted(IPUlseError):
    """This token is not allowed to do that."""

    code = "not_permitted"


class Unavailable(IPUlseError):
    """Something that is needed is not available now; try again later."""

    code = "unavailable"


class MissingDependency(Unavailable):
    """Something that is needed is not installed."""

    code = "missing_dependency"


class RemoteError(IPUlseError):
    """The service answered with an error."""

    code = "remote_error"

    def __init__(self, message: str, status: int = 0, remote_code: str = "") -> None:
        self.status = status
        self.remote_code = remote_code
        super().__init__(message)
