"""The files of a result, as manifest.json lists them.

A runner writes the manifest last. The agent compares it with the files that the service stored;
see `ipulse.manifest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List

from ipulse_core.events import FILE_NAME, Role, WireObject, described, integer, text

SCHEMA = "ipulse.manifest/1"
SHA256 = "^[0-9a-f]{64}$"


@dataclass(frozen=True)
class ListedFile(WireObject):
    """A file of the result, as it was on disk when the manifest was written."""

    name: str = described("File in the work directory.", pattern=FILE_NAME)
    role: Role = described("Purpose of the file.")
    media_type: str = text("Media type.", max_length=128)
    sha256: str = described("SHA-256 of its content.", pattern=SHA256)
    size: int = integer("Length of its content in bytes.", ge=0)


def manifest_json(files: List[ListedFile]) -> Dict[str, Any]:
    """Returns the part of a manifest that says which files belong to the result."""
    return {"schema": SCHEMA, "artifacts": [file.to_json() for file in files]}
