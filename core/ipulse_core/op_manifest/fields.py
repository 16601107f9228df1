"""Fields of the objects in op.json."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence, Tuple

from ipulse_core import strict_json


def unknown_fields(value: Mapping[str, Any], known: Sequence[str]) -> Iterator[Tuple[str, str]]:
    """Yields the pointer of each field that an object does not have, and what is wrong."""
    for name in value:
        if name not in known:
            yield f"/{strict_json.escape(name)}", f"unknown field; known are {', '.join(known)}"
