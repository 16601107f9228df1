"""JSON as RFC 8259 defines it, without the extensions that Python's parser accepts."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Sequence, Tuple, Union

from ipulse_core.errors import InvalidJSON, Problem
from ipulse_core.limits import MAX_INTEGER

MAX_DEPTH = 64  # levels of nesting; the deepest valid spec has six

_SURROGATE = re.compile("[\ud800-\udfff]")
_MAYBE_SURROGATE = re.compile("[\ud800-\udfff]|\\\\u[dD][89a-fA-F]")
_CONTAINERS = (list, dict)
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def loads(text: Union[bytes, str], *, whole_as_int: bool = False) -> Any:
    """Parses one JSON document.

    Args:
        text: The document.
        whole_as_int: Whether a number such as 1.0 is returned as int. JSON and JSON Schema do not
            distinguish it from 1.

    Raises:
        InvalidJSON: The text is not JSON, or not UTF-8, or has NaN, infinities, repeated keys, lone
            surrogates or more than MAX_DEPTH levels of nesting.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _invalid(f"not UTF-8 at byte {error.start}") from error
    try:
        value = json.loads(
            text,
            parse_float=number if whole_as_int else None,
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique,
        )
    except RecursionError as error:
        raise _invalid(f"nested deeper than {MAX_DEPTH} levels") from error
    except json.JSONDecodeError as error:
        detail = f"{error.msg} at line {error.lineno} column {error.colno}"
        raise _invalid(detail) from error
    except ValueError as error:  # Python limits the digits of an integer
        raise _invalid("an integer has thousands of digits") from error
    if type(value) in _CONTAINERS:
        _check_depth(value, "", 0)
    # Most text is ASCII, for which the check is skipped.
    if not (text.isascii() and "\\u" not in text) and _MAYBE_SURROGATE.search(text):
        _check_text(value, "")
    return value


def dumps(value: Any) -> str:
    """Returns the canonical text of a value: sorted keys, no spaces, no NaN."""
    return _CANONICAL.encode(value)


def escape(key: str) -> str:
    """Returns a key as one token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def pointer_keys(pointer: str) -> List[str]:
    """Returns the keys and indices that a JSON pointer consists of."""
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def dotted(keys: Sequence[str]) -> str:
    """Returns the keys of a pointer with dots and brackets: layers[0].neurons."""
    text = "".join(f"[{name}]" if name.isdigit() else f".{name}" for name in keys)
    return text[1:] if text.startswith(".") else text


def number(text: str) -> Union[int, float]:
    """Returns the number that the text of a float denotes, as int if it is whole and exact."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) <= MAX_INTEGER else value


def _invalid(detail: str, pointer: str = "") -> InvalidJSON:
    return InvalidJSON([Problem(pointer, "invalid_json", detail)])


def _refuse_constant(name: str) -> Any:
    raise _invalid(f"{name} is not a JSON number")


def _unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise _invalid(f"the key {_shown(key)} occurs twice in one object")
            seen.add(key)
    return result


def _check_depth(value: Any, pointer: str, depth: int) -> None:
    """Checks the nesting of a list or an object."""
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
