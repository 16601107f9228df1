"""Documents of a spec that differ in one place, and what is said of them."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import pytest

from ipulse.spec import parse_spec
from ipulse_core.errors import InvalidSpec


def minimal() -> Dict[str, Any]:
    return {"version": 1, "network": {"layers": [{"neurons": 8}]}}


def changed(pointer: str, value: Any, document: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
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


def problems_of(document: Any) -> List[Tuple[str, str]]:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(document)
    return [(problem.pointer, problem.code) for problem in caught.value.problems]
