"""The chain of the audit log: each entry has a digest over its fields and the digest before it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from ipulse_core import strict_json

FIRST = "0" * 64  # the digest before the first entry
FIELDS = (
    "number",
    "time",
    "actor",
    "token_id",
    "request_id",
    "action",
    "target_kind",
    "target",
    "project",
    "outcome",
    "detail",
)


class BrokenChain(Exception):
    """An entry of the audit log was changed, removed or added later."""

    def __init__(self, number: int, why: str) -> None:
        self.number = number  # of the first entry that does not fit
        super().__init__(f"entry {number}: {why}")


def digest(entry: Mapping[str, Any], previous: str) -> str:
    """Return the SHA-256 of an entry's fields as canonical JSON, after the digest before it."""
    text = strict_json.dumps([previous, *(entry[name] for name in FIELDS)])
    return hashlib.sha256(text.encode()).hexdigest()


def check(entries: Iterable[Mapping[str, Any]]) -> tuple[int, str]:
    """Return the number of entries, from the first one on, and the digest of the last.

    Raises BrokenChain for the first entry that does not follow the one before it.
    """
    number, last = 0, FIRST
    for entry in entries:
        number += 1
        if entry["number"] != number:
            raise BrokenChain(number, f"it is missing, entry {entry['number']} follows")
        if entry["previous_sha256"] != last:
            raise BrokenChain(number, "it does not follow the entry before it")
        last = digest(entry, last)
        if entry["sha256"] != last:
            raise BrokenChain(number, "its fields do not have its digest")
    return number, last
