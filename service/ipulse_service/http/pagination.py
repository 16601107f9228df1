"""Page tokens: keyset cursors, written as JSON in URL-safe base64.

A token names the last item of a page and a digest of the list's filters. It is not secret, and it
grants nothing that its reader could not ask for directly.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ipulse_core.errors import Problem
from ipulse_service.http.dependencies import DIGITS
from ipulse_service.http.problems import InvalidParameter

DEFAULT_PAGE = 50  # items on a page of a list, unless asked for others
MAX_PAGE = 500

_MAX_KEY = 2**63 - 1  # the largest primary key of either database


class PageQuery(BaseModel):
    """Query parameters of a list without filters."""

    model_config = ConfigDict(extra="forbid")

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), DIGITS] = Field(
        default=DEFAULT_PAGE, description="Items on a page."
    )
    page_token: str | None = Field(
        default=None, max_length=1000, description="`next_page_token` of the page before."
    )


class _Cursor(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    before: int = Field(ge=0, le=_MAX_KEY)
    skip: int = Field(default=0, ge=0, le=_MAX_KEY)  # jobs of a sorted list
    filters: str = Field(max_length=16)


def encode(last: int, filters: str, skip: int = 0) -> str:
    """Returns the token of the page that follows the item with the key `last`.

    In a sorted list it follows `skip` items, of those with keys up to `last`.
    """
    text = _Cursor(before=last, filters=_digest(filters), skip=skip).model_dump_json()
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(token: str, filters: str) -> int:
    """Returns the key of the last item of the previous page, see `decode_sorted`."""
    return decode_sorted(token, filters)[0]


def decode_sorted(token: str, filters: str) -> tuple[int, int]:
    """Returns the two numbers that `encode` was given.

    Raises:
        InvalidParameter: The token was not made by `encode`, or for other filters.
    """
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True)
        cursor = _Cursor.model_validate_json(text)
    except (binascii.Error, ValidationError, ValueError) as error:
        raise _refused("bad_token", "this is not a page token of this service") from error
    if cursor.filters != _digest(filters):
        raise _refused("filters_changed", "the filters must be those of the first page")
    return cursor.before, cursor.skip


def _digest(filters: str) -> str:
    return hashlib.sha256(filters.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _refused(code: str, detail: str) -> InvalidParameter:
    return InvalidParameter([Problem("/query/page_token", code, detail)])
