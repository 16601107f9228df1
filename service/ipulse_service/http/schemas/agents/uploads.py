"""The description of a file that an agent uploads."""

from __future__ import annotations

import re
from typing import Annotated, get_args

from fastapi import Header, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.events import FILE_NAME, Role
from ipulse_service.http.dependencies import DIGITS
from ipulse_service.http.schemas.agents.worker_requests import MAX_MEDIA_TYPE, MEDIA_TYPE
from ipulse_service.jobs.artifacts import NewArtifact

_MAX_SIZE = 2**53 - 1  # the largest integer that every JSON library reads exactly
_Bytes = Annotated[int, Field(ge=0, le=_MAX_SIZE), DIGITS]


class ArtifactQuery(BaseModel):
    """The description of a file that is uploaded."""

    model_config = ConfigDict(extra="forbid")

    role: str = Field(description="What the file is for.")
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of the whole file.")
    size: _Bytes = Field(description="Bytes.")
    media_type: str = "application/octet-stream"

    def new_artifact(self, name: str) -> NewArtifact:
        """Returns the artifact of this name. Raises InvalidInput with all problems."""
        found = []
        if not re.fullmatch(FILE_NAME, name):
            detail = "must be at most 128 letters, digits and ._- and not begin with one of these"
            found.append(Problem("/path/name", "wrong_form", detail))
        if self.role not in get_args(Role):
            detail = f"must be one of {', '.join(get_args(Role))}"
            found.append(Problem("/query/role", "not_a_choice", detail))
        is_known_form = re.fullmatch(MEDIA_TYPE, self.media_type)
        if not is_known_form or len(self.media_type) > MAX_MEDIA_TYPE:
            detail = f"must look like type/subtype, with at most {MAX_MEDIA_TYPE} characters"
            found.append(Problem("/query/media_type", "wrong_form", detail))
        if found:
            raise InvalidInput(found)
        return NewArtifact(name, self.role, self.media_type)


FileName = Annotated[str, Path(description="The file's name.")]
FileQuery = Annotated[ArtifactQuery, Query()]
UploadOffset = Annotated[_Bytes, Header(description="Where in the file the body begins, in bytes.")]
