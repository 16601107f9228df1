"""The weights of its own that an op declares: shapes, initial values and bounds."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from ipulse_core import strict_json
from ipulse_core.errors import Problem
from ipulse_core.limits import MAX_FLOAT32
from ipulse_core.op_manifest.expressions import Size
from ipulse_core.op_manifest.fields import unknown_fields

PER_BATCH = ("steps", "batch")  # sizes on which no weights may depend
MAX_WEIGHTS, MAX_RANK = 16, 8
MAX_ELEMENTS = 2**27  # of one array: 512 MiB in float32
# The numbers of each initialiser, with their defaults; None if it must be given.
INITIALISERS: Dict[str, Dict[str, Optional[float]]] = {
    "zeros": {},
    "ones": {},
    "constant": {"value": None},
    "uniform": {"low": None, "high": None},
    "normal": {"mean": 0.0, "std": None},
    "glorot_uniform": {},
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class OpInitialiser(NamedTuple):
    """A distribution, and its numbers."""

    name: str
    numbers: Dict[str, float]


class OpWeight(NamedTuple):
    """An array of an op's own. Its element type is float32."""

    name: str
    shape: Tuple[Size, ...]
    initialiser: OpInitialiser
    trainable: bool
    minimum: Optional[float]  # after each update, values are limited to the two
    maximum: Optional[float]
    description: str


def read_weights(listed: Any, problems: List[Problem]) -> List[OpWeight]:
    """Returns the declarations in op.json; what is wrong is added to `problems`."""
    if not isinstance(listed, list) or len(listed) > MAX_WEIGHTS:
        problems.append(Problem("/weights", "invalid", f"expected a list of at most {MAX_WEIGHTS}"))
        return []
    found: List[OpWeight] = []
    for index, value in enumerate(listed):
        before = len(problems)
        pointer = f"/weights/{index}"
        problems.extend(Problem(f"{pointer}{at}", "invalid", text) for at, text in _wrong(value))
        if len(problems) == before:
            found.append(
                OpWeight(
                    value["name"],
                    tuple(value["shape"]),
                    _initialiser(value["initialiser"]),
                    value.get("trainable", True),
                    value.get("minimum"),
                    value.get("maximum"),
                    value.get("description", ""),
                )
            )
    return found


def is_size(value: Any) -> bool:
    """Returns whether a value may be a size in a shape: a whole number from 1, or an expression."""
    return isinstance(value, str) or (type(value) is int and value > 0)


def _initialiser(value: Union[str, Dict[str, Any]]) -> OpInitialiser:
    given: Dict[str, Any] = {"name": value} if isinstance(value, str) else value
    name = given["name"]
    numbers: Dict[str, Any] = {
        key: given.get(key, default) for key, default in INITIALISERS[name].items()
    }
    return OpInitialiser(name, numbers)


def _wrong(value: Any) -> Iterator[Tuple[str, str]]:
    """Yields the place and the text of what is wrong with a declaration."""
    if not isinstance(value, dict):
        yield "", "expected an object with name, shape, initialiser and trainable"
        return
    yield from unknown_fields(value, OpWeight._fields)
    if not isinstance(value.get("name"), str) or not _NAME.fullmatch(value["name"]):
        yield "/name", "expected an identifier of at most 64 characters that begins with a letter"
    shape = value.get("shape")
    if (
        not isinstance(shape, list)
        or not 1 <= len(shape) <= MAX_RANK
        or not all(map(is_size, shape))
    ):
        detail = f"expected a list of 1 to {MAX_RANK} whole numbers from 1 and expressions of sizes"
        yield "/shape", detail
    yield from _wrong_initialiser(value.get("initialiser"))
    if not isinstance(value.get("trainable", True), bool):
        yield "/trainable", "expected true or false"
    bounds: List[Any] = [value.get("minimum"), value.get("maximum")]
    for name, bound in zip(("minimum", "maximum"), bounds):
        if bound is not None and not _is_number(bound):
            yield f"/{name}", "expected a number in the range of float32"
    if all(map(_is_number, bounds)) and bounds[0] > bounds[1]:
        yield "/minimum", f"{bounds[0]:g} is above the maximum of {bounds[1]:g}"
    if not isinstance(value.get("description", ""), str):
        yield "/description", "expected a text"


def _wrong_initialiser(value: Any) -> Iterator[Tuple[str, str]]:
    given: Any = {"name": value} if isinstance(value, str) else value
    name: Any = given.get("name") if isinstance(given, dict) else None
    if not isinstance(name, str) or name not in INITIALISERS:
        known = ", ".join(INITIALISERS)
        yield "/initialiser", f"expected one of {known}, or an object with its name and numbers"
        return
    numbers = INITIALISERS[given["name"]]
    for name in given:
        if name != "name" and name not in numbers:
            known = ", ".join(numbers) or "none"
            place = f"/initialiser/{strict_json.escape(name)}"
            yield place, f"unknown field; {given['name']} has {known}"
    for name, default in numbers.items():
        number: Any = given.get(name, default)
        if not _is_number(number):
            example = {"name": given["name"], **dict.fromkeys(numbers, 0.5)}
            yield (
                f"/initialiser/{name}",
                f"expected a number in the range of float32, as in {strict_json.dumps(example)}",
            )
        elif name == "std" and number < 0:
            yield "/initialiser/std", "expected a number from 0"
    low: Any = given.get("low")
    high: Any = given.get("high")
    if given["name"] == "uniform" and _is_number(low) and _is_number(high) and low > high:
        yield "/initialiser/low", f"{low:g} is above high, {high:g}"


def _is_number(value: Any) -> bool:
    """Returns whether a value is a number in the range of float32."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and -MAX_FLOAT32 <= value <= MAX_FLOAT32
