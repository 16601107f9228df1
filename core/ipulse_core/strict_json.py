"""JSON as RFC 8259 has it and no wider: what Python's parser lets through is refused here."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Tuple, Union

from ipulse_core.errors import InvalidJSON, Problem

MAX_DEPTH = 64  # levels of nesting; the deepest valid spec has six

_SURROGATE = re.compile("[\ud800-\udfff]")
_MAYBE_SURROGATE = re.compile("[\ud800-\udfff]|\\\\u[dD][89a-fA-F]")
_CONTAINERS = (list, dict)
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def loads(text: Union[bytes, str]) -> Any:
    """Parses one JSON document.

    Raises InvalidJSON for what `json.loads` accepts or stumbles over: bytes that are not UTF-8,
    NaN and infinities, duplicate keys, lone surrogates, nesting beyond MAX_DEPTH levels.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _invalid(f"not UTF-8 at byte {error.start}") from error
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except RecursionError as error:
        raise _invalid(f"nested deeper than {MAX_DEPTH} levels") from error
    except json.JSONDecodeError as error:
        detail = f"{error.msg} at line {error.lineno} column {error.colno}"
        raise _invalid(detail) from error
    except ValueError as error:  # Python refuses to read them, in words meant for programmers
        raise _invalid("an integer has thousands of digits") from error
    if type(value) in _CONTAINERS:
        _check_depth(value, "", 0)
    # Nearly all text is plain, and to look for a byte takes no time.
    if not (text.isascii() and "\\u" not in text) and _MAYBE_SURROGATE.search(text):
        _check_text(value, "")
    return value


def dumps(value: Any) -> str:
    """The one canonical text of a value: sorted keys, no spaces, no NaN."""
    return _CANONICAL.encode(value)


def escape(key: str) -> str:
    """A key as one token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _invalid(detail: str, pointer: str = "") -> InvalidJSON:
    return InvalidJSON([Problem(pointer, "invalid_json", detail)])


def _refuse_constant(name: str) -> Any:
    raise _invalid(f"{name} is not a JSON number")


def _unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise _invalid(f"the key {_shown(key)} stands twice in one object")
            seen.add(key)
    return found


def _check_depth(value: Any, pointer: str, depth: int) -> None:
    """`value` is a list or an object."""
    if depth == MAX_DEPTH:
        raise _invalid(f"nested deeper than {MAX_DEPTH} levels", pointer)
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if type(item) in _CONTAINERS:
            place = f"{pointer}/{key}" if isinstance(key, int) else f"{pointer}/{escape(key)}"
            _check_depth(item, place, depth + 1)


def _check_text(value: Any, pointer: str) -> None:
    if isinstance(value, str) and _SURROGATE.search(value):
        raise _invalid("a lone surrogate is not text", pointer)
    if isinstance(value, list):
        for index, item in enumerate(value):
            _check_text(item, f"{pointer}/{index}")
    if isinstance(value, dict):
        for key, item in value.items():
            if _SURROGATE.search(key):
                raise _invalid("a lone surrogate is not text", pointer)
            _check_text(item, f"{pointer}/{escape(key)}")


def _shown(key: str) -> str:
    return json.dumps(key if len(key) <= 60 else key[:60] + "...")
