"""Documents of a spec that differ in one place, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse_core.errors import InvalidSpec


def minimal() -> dict[str, Any]:
    return {"version": 1, "network": {"layers": [{"neurons": 8}]}}


def changed(pointer: str, value: Any, document: dict[str, Any] | None = None) -> dict[str, Any]:
    """The document, or else the minimal one, with one place set to `value`."""
    document = minimal() if document is None else document
    *parents, last = pointer.split("/")[1:]
    at: Any = document
    for name in parents:
        at = at[int(name)] if isinstance(at, list) else at.setdefault(name, {})
    if isinstance(at, list):
        at[int(last)] = value
    else:
        at[last] = value
    return document


def problems_of(document: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(document)
    return [(problem.pointer, problem.code) for problem in caught.value.problems]


def assert_refused(changes: dict[str, Any], pointer: str, hint: str) -> None:
    """A spec with these changes has one problem, at this place and with this hint."""
    document = changed(*next(iter(changes.items())))
    for place, value in list(changes.items())[1:]:
        document = changed(place, value, document)
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(document)
    (problem,) = caught.value.problems
    assert problem.pointer == pointer
    assert hint in problem.detail
