"""Compares a manifest with the files that were stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict

from ipulse.models import Field, FromObject, ListOf, StrictModel, validate
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.manifest import ListedFile


class Contents(StrictModel):
    """The part of a manifest that says which files belong to the result."""

    model_config = ConfigDict(extra="ignore")  # the rest is for people

    schema_: Annotated[Literal["ipulse.manifest/1"], Field(alias="schema")]
    artifacts: ListOf[Annotated[ListedFile, FromObject()]]


def check_stored(manifest: bytes, stored: Mapping[str, str]) -> None:
    """Checks that the files in a manifest are exactly those that were stored.

    Args:
        manifest: The content of manifest.json.
        stored: SHA-256 of each stored file by name.

    Raises:
        InvalidInput: With every file that differs or is missing on either side, or because the
            bytes are not a manifest.
    """
    files = validate(Contents, strict_json.loads(manifest)).artifacts
    problems = []
    for index, file in enumerate(files):
        sha256 = stored.get(file.name)
        if sha256 != file.sha256:
            what = f"was stored with the SHA-256 {sha256}" if sha256 else "was not stored"
            detail = f"{file.name} has the SHA-256 {file.sha256} and {what}"
            problems.append(Problem(f"/artifacts/{index}/sha256", "wrong_sha256", detail))
    for name in sorted(set(stored).difference(file.name for file in files)):
        problems.append(Problem("/artifacts", "missing", f"{name} was stored but is not listed"))
    if problems:
        raise InvalidInput(problems)
