"""Sizes of tensors as expressions of other sizes, such as `senders // width`."""

from __future__ import annotations

import ast
import operator
from typing import Any, Callable, Dict, Mapping, Type, Union

MAX_LENGTH = 100  # characters of an expression
MAX_SIZE = 2**31 - 1
Size = Union[int, str]

_OPERATORS: Dict[Type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


class WrongSize(ValueError):
    """A size cannot be computed."""


def size_of(size: Size, values: Mapping[str, int]) -> int:
    """Returns the value of a size: an integer, or +, -, *, // and % of integers and names.

    Raises WrongSize for another expression, an unknown name, and a result below 1 or too large.
    """
    value = _bounded(size) if isinstance(size, int) else _value(_parsed(size), values)
    if not 1 <= value <= MAX_SIZE:
        raise WrongSize(f"{size} is {value}, and sizes are 1 to {MAX_SIZE:,}")
    return value


def _parsed(text: str) -> ast.expr:
    if len(text) > MAX_LENGTH:
        raise WrongSize(f"an expression has at most {MAX_LENGTH} characters")
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise WrongSize(f"{text!a} is not an expression of sizes") from None


def _value(node: ast.expr, values: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return _bounded(node.value)
    if isinstance(node, ast.Name):
        if node.id not in values:
            known = ", ".join(values)
            raise WrongSize(f"{node.id} is no size here; known are {known}")
        return _bounded(values[node.id])
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, values), _value(node.right, values)
        if right == 0 and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            raise WrongSize("a division by 0")
        return _bounded(_OPERATORS[type(node.op)](left, right))
    raise WrongSize("only whole numbers, names, +, -, *, //, % and parentheses are allowed")


def _bounded(value: Any) -> int:
    if abs(value) > MAX_SIZE:
        raise WrongSize(f"a size or a part of one is above {MAX_SIZE:,}")
    return int(value)
