"""manifest.json: what a result consists of. A runner writes it, its agent holds it to the store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, List, Mapping

from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.events import NAME, Role
from ipulse_core.parsing import parse
from ipulse_core.schema import described

SCHEMA = "ipulse.manifest/1"


@dataclass(frozen=True)
class ListedFile:
    """One file of the result, as it was on the disk when the manifest was written."""

    name: str = described("File in the work directory.", pattern=NAME)
    role: Role = described("What the file is for.")
    media_type: str = described("Media type.", max_length=128)
    sha256: str = described("SHA-256 of its content.", pattern="[0-9a-f]{64}")
    size: int = described("Length of its content.", ge=0, unit="B")


@dataclass(frozen=True)
class Contents:
    """What of a manifest says which files belong to the result; the rest is for people."""

    schema: str = described("The form of the manifest.", pattern=re.escape(SCHEMA))
    artifacts: List[ListedFile] = described("All files but the manifest.")


def check_stored(manifest: bytes, stored: Mapping[str, str]) -> None:
    """Whether the files that a manifest lists are those of which the SHA-256 was stored, by name.

    Raises InvalidInput with every file that is another one or in only one of the two, and for
    bytes that are no manifest.
    """
    listed = _contents(strict_json.loads(manifest)).artifacts
    found = []
    for index, file in enumerate(listed):
        sha256 = stored.get(file.name)
        if sha256 != file.sha256:
            what = f"was stored with the SHA-256 {sha256}" if sha256 else "was not stored"
            detail = f"{file.name} has the SHA-256 {file.sha256} and {what}"
            found.append(Problem(f"/artifacts/{index}/sha256", "wrong_sha256", detail))
    for name in sorted(set(stored).difference(file.name for file in listed)):
        found.append(Problem("/artifacts", "missing", f"{name} was stored and is not listed"))
    if found:
        raise InvalidInput(found)


def _contents(document: Any) -> Contents:
    if isinstance(document, dict):
        names = ("schema", "artifacts")
        document = {name: document[name] for name in names if name in document}
    return parse(Contents, document)
