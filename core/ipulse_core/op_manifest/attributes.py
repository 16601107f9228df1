"""The attributes that an op declares, and the values that a layer gives them."""

from __future__ import annotations

import json
import math
import sys
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ipulse_core import strict_json
from ipulse_core.errors import Problem
from ipulse_core.op_manifest.fields import unknown_fields

MAX_ATTRIBUTES = 32
MAX_STRING = 256
_KINDS: Dict[str, Tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "string": (str,),
}
TYPES = tuple(_KINDS)


class OpAttribute(NamedTuple):
    """A declared attribute."""

    type: str
    default: Any  # None: a layer must give a value
    minimum: Optional[float]
    maximum: Optional[float]
    values: Optional[List[str]]  # the only ones, of a string
    description: str

    def problem(self, given: Any) -> Optional[str]:
        """Returns what is wrong with a value, None if nothing is."""
        value: Any = given  # of its type from here on
        if not isinstance(given, _KINDS[self.type]) or (
            isinstance(given, bool) is not (self.type == "boolean")
        ):
            return f"expected a {self.type}; got {json.dumps(given)[:60]}"
        if isinstance(value, float) and not math.isfinite(value):
            return "expected a finite number"
        if isinstance(value, str) and len(value) > MAX_STRING:
            return f"expected at most {MAX_STRING} characters; got {len(value):,}"
        if self.values is not None and value not in self.values:
            return f"expected one of {', '.join(self.values)}; got {value!a}"
        if self.minimum is not None and value < self.minimum:
            return f"{value} is below the minimum of {self.minimum:g}"
        if self.maximum is not None and value > self.maximum:
            return f"{value} is above the maximum of {self.maximum:g}"
        return None


def read_attributes(document: Mapping[str, Any], problems: List[Problem]) -> Dict[str, OpAttribute]:
    """Returns the declarations in op.json; what is wrong is added to `problems`."""
    found: Dict[str, OpAttribute] = {}
    if len(document) > MAX_ATTRIBUTES:
        problems.append(Problem("/attributes", "invalid", f"at most {MAX_ATTRIBUTES} are allowed"))
        return found
    for name, value in document.items():
        pointer = f"/attributes/{strict_json.escape(name)}"
        before = len(problems)
        problems.extend(Problem(f"{pointer}{at}", "invalid", text) for at, text in _wrong(value))
        if not (name.isascii() and name.isidentifier()) or len(name) > 64:
            problems.append(Problem(pointer, "invalid", "expected an identifier as the name"))
        if len(problems) > before:
            continue
        made = OpAttribute(
            value["type"],
            value.get("default"),
            value.get("minimum"),
            value.get("maximum"),
            value.get("values"),
            value.get("description", ""),
        )
        wrong = None if made.default is None else made.problem(made.default)
        if wrong is not None:
            problems.append(Problem(f"{pointer}/default", "invalid", wrong))
        found[name] = made
    return found


def resolve_attributes(
    declared: Mapping[str, OpAttribute], given: Mapping[str, Any], problems: List[Problem]
) -> Dict[str, Any]:
    """Returns a value for every declared attribute; pointers of problems begin at `given`."""
    for name in given:
        if name not in declared:
            known = f"; known are {', '.join(declared)}" if declared else ", it has none"
            detail = f"the op has no such attribute{known}"
            problems.append(Problem(f"/{strict_json.escape(name)}", "unknown", detail))
    values: Dict[str, Any] = {}
    for name, attribute in declared.items():
        value = given.get(name, attribute.default)
        wrong = "is missing: the op has no default for it"
        if value is not None:
            wrong = attribute.problem(value) or ""
        if wrong:
            code = "missing" if name not in given else "invalid"
            problems.append(Problem(f"/{strict_json.escape(name)}", code, wrong))
        values[name] = value
    return values


def attributes_text(values: Mapping[str, Any]) -> str:
    """Returns the text that an op receives: JSON without spaces, the names in order."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _wrong(value: Any) -> Iterator[Tuple[str, str]]:
    """Yields the place and the text of what is wrong with a declaration."""
    if not isinstance(value, dict):
        yield "", "expected an object with type, default, minimum and maximum"
        return
    yield from unknown_fields(value, OpAttribute._fields)
    kind = value.get("type")
    if kind not in TYPES:
        yield "/type", f"expected one of {', '.join(TYPES)}"
    for name in ("minimum", "maximum"):
        bound = value.get(name)
        if bound is None:
            continue
        if (
            isinstance(bound, bool)
            or not isinstance(bound, (int, float))
            or not abs(bound) <= sys.float_info.max
        ):
            yield f"/{name}", "expected a finite number"
        elif kind not in ("integer", "number"):
            yield f"/{name}", f"a {kind} has no bounds"
    values = value.get("values")
    if values is not None and not (
        kind == "string"
        and isinstance(values, list)
        and values
        and all(isinstance(text, str) for text in values)
    ):
        yield "/values", "expected a list of the strings that are allowed, of a string"
    if not isinstance(value.get("description", ""), str):
        yield "/description", "expected a text"
