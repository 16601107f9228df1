"""The tree of errors: each class has a stable code, and its docstring is the default message.

IPUlseError
├── InvalidInput          invalid_input        problems with their JSON pointers
│   ├── InvalidJSON       invalid_json
│   └── InvalidSpec       invalid_spec
├── NotFound              not_found
├── Conflict              conflict
│   ├── StaleToken        stale_token          the attempt was superseded
│   └── IllegalTransition illegal_transition
├── NotAuthenticated      not_authenticated
├── NotPermitted          not_permitted
├── Unavailable           unavailable          something needed is not available now
│   └── MissingDependency missing_dependency   something needed is not installed
└── RemoteError           remote_error         the service answered with an error
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
    """A problem of an input at a place given by an RFC 6901 JSON pointer."""

    pointer: str
    code: str
    detail: str

    def to_json(self) -> Dict[str, str]:
        """Returns the problem as JSON."""
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
    """The object does not exist, or this token may not read it."""

    code = "not_found"


class Conflict(IPUlseError):
    """The request conflicts with the current state."""

    code = "conflict"


class StaleToken(Conflict):
    """This attempt was superseded: its lease expired and another attempt may have started."""

    code = "stale_token"


class IllegalTransition(Conflict):
    """The job cannot change from its current state to the requested one."""

    code = "illegal_transition"


class NotAuthenticated(IPUlseError):
    """A valid bearer token is required: `ipulse up` prints the file that contains one."""

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
