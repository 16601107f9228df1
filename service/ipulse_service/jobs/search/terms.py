"""Terms of a search query, and errors about places in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ipulse_core.errors import InvalidInput, Problem

QUOTED = r'"(?:[^"\\]|\\.)*"'  # in a pattern with DOTALL
LABEL = "label."  # begins the name of a label
NULL = "null"  # as a value: the job has none

_BARE = re.compile(r"(?!(?:null|OR|AND)$)[A-Za-z0-9][A-Za-z0-9_./@+-]*")
_SPECIAL = re.compile(r'["\\]')
_ESCAPED = re.compile(r'\\(["\\])')


def quoted(text: str) -> str:
    """Returns the form of a text in a query, in quotation marks unless it needs none."""
    if _BARE.fullmatch(text):
        return text
    return '"' + _SPECIAL.sub(r"\\\g<0>", text) + '"'


def unquoted(written: str) -> str:
    """Returns the text that is written so between quotation marks."""
    return _ESCAPED.sub(r"\1", written)


class InvalidQuery(InvalidInput):
    """The search query is not valid."""

    code = "invalid_query"


@dataclass(frozen=True)
class QueryProblem(Problem):
    """A problem of a query at a place in its text, in characters from 0."""

    position: int = 0
    length: int = 0

    def to_json(self) -> dict[str, str]:
        """Returns the problem as JSON."""
        place: dict[str, str] = {"position": self.position, "length": self.length}  # type: ignore[dict-item]
        return {**super().to_json(), **place}


@dataclass(frozen=True)
class QueryText:
    """A text of a query and its place."""

    text: str
    position: int
    length: int
    is_quoted: bool = False
    is_prefix: bool = False  # a `*` follows the quotation marks


@dataclass(frozen=True)
class WordTerm:
    """Jobs that contain a text in their name, id, tags or group."""

    text: QueryText


@dataclass(frozen=True)
class ComparisonTerm:
    """Jobs with a field, setting or metric that compares so with one of the values."""

    name: QueryText
    operator: str  # one of ORDERED, "=" or "!="
    values: tuple[QueryText, ...]


@dataclass(frozen=True)
class NotTerm:
    """Jobs that the term does not match."""

    term: Term


@dataclass(frozen=True)
class AllTerms:
    """Jobs that all terms match."""

    terms: tuple[Term, ...]


@dataclass(frozen=True)
class AnyTerm:
    """Jobs that at least one of the terms matches."""

    terms: tuple[Term, ...]


Term = WordTerm | ComparisonTerm | NotTerm | AllTerms | AnyTerm


def invalid(
    code: str, detail: str, position: int, length: int, pointer: str = "/query/q"
) -> InvalidQuery:
    """Returns the error about a place of a query."""
    described = f"at character {position + 1}: {detail}"
    return InvalidQuery([QueryProblem(pointer, code, described, position, length)])


def in_body(error: InvalidQuery) -> InvalidQuery:
    """Returns the error about a query that is the field `q` of a body, not a parameter."""
    problems = [replace(problem, pointer="/q") for problem in error.problems]
    return InvalidQuery(problems)
