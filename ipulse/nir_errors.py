"""Why a NIR file is not imported: what `python -m ipulse_core.nir` prints, as errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ipulse_core.errors import InvalidInput, Problem, Unavailable


class NirChoice(NamedTuple):
    """One meaning of a file: the options of an import that choose it, and what they stand for."""

    options: Mapping[str, str]
    meaning: str


class NirInvalid(InvalidInput):
    """The NIR file cannot be imported."""

    code = "nir_invalid"


class NirAmbiguous(NirInvalid):
    """The NIR file does not tell what its neurons do; choose one of `choices`."""

    code = "nir_ambiguous"

    def __init__(
        self, problems: Sequence[Problem], message: str, choices: Sequence[NirChoice]
    ) -> None:
        self.choices = tuple(choices)
        super().__init__(problems, message)


def check_result(result: Mapping[str, Any], place: str) -> None:
    """Raise NirInvalid or NirAmbiguous if the importer found an error in the file at a place.

    Raises Unavailable for what is not the file's, such as a full disk.
    """
    error = result.get("error")
    if error is None:
        return
    if error["code"] not in (NirInvalid.code, NirAmbiguous.code):
        raise Unavailable(error["message"])
    problems = [Problem(place, error["code"], error["message"])]
    if error["code"] == NirAmbiguous.code:
        choices = [NirChoice(options, meaning) for options, meaning in error["choices"]]
        raise NirAmbiguous(problems, error["message"], choices)
    raise NirInvalid(problems, error["message"])
