"""One error tree: stable codes, default messages, problems that print with their places."""

from __future__ import annotations

import re
from typing import List, Type

import pytest

from ipulse_core import errors
from ipulse_core.errors import InvalidSpec, IPUlseError, Problem, RemoteError


def tree(cls: Type[IPUlseError]) -> List[Type[IPUlseError]]:
    return [cls, *(below for child in cls.__subclasses__() for below in tree(child))]


OURS = [cls for cls in tree(IPUlseError) if cls.__module__ == errors.__name__]


def test_every_error_is_exported_and_drawn_with_its_code() -> None:
    assert {cls.__name__ for cls in OURS} | {"Problem"} == set(errors.__all__)
    drawn = dict(re.findall(r"── (\w+) +([a-z_]+)", errors.__doc__ or ""))
    assert drawn == {cls.__name__: cls.code for cls in OURS if cls is not IPUlseError}


def test_codes_are_unique() -> None:
    assert len({cls.code for cls in OURS}) == len(OURS)


@pytest.mark.parametrize("cls", [c for c in OURS if c not in (RemoteError,)], ids=lambda c: c.code)
def test_the_docstring_is_the_default_message(cls: Type[IPUlseError]) -> None:
    error = cls([]) if issubclass(cls, errors.InvalidInput) else cls()
    assert error.message == (cls.__doc__ or "").strip()
    assert error.message in str(error)


def test_an_invalid_input_prints_each_problem_with_its_place() -> None:
    error = InvalidSpec(
        [Problem("/seed", "out_of_range", "must be at least 0"), Problem("", "x", "y")]
    )
    assert str(error).splitlines()[1:] == [
        "  /seed: must be at least 0",
        "  (the document): y",
    ]


def test_a_remote_error_keeps_the_message_of_the_service() -> None:
    error = RemoteError("disk full", status=507, remote_code="artifact_store")
    assert (error.message, error.status, error.remote_code) == ("disk full", 507, "artifact_store")
