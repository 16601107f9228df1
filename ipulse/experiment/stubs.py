"""Writes the types of the functions that make parts, for editors and type checkers.

The functions are made at run time from the models of a spec. After a change of a field run
`python -m ipulse.experiment.stubs`.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from .part import SpecPart

MODULES = ("data", "parts")
_WIDTH, _IN = 96, "    "
_HEAD = '''\
"""{}

Written by `python -m ipulse.experiment.stubs`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .part import Array, SpecPart
'''


def stub(module: str) -> str:
    """Returns the types of a module of this package."""
    found = importlib.import_module(f"ipulse.experiment.{module}")
    text = _HEAD.format(inspect.getdoc(found))
    for name, value in vars(found).items():
        if callable(value) and name[0].isupper():
            if hasattr(value, "__fields__"):
                text += "\n" + "\n".join(_function(name, value)) + "\n"
            elif getattr(value, "__module__", "") == found.__name__:
                signature = str(inspect.signature(value)).replace(f"{SpecPart.__module__}.", "")
                text += f"\ndef {name}{signature}: ...\n"
    return text


def path(module: str) -> Path:
    """Returns the file of a module's types."""
    return Path(__file__).with_name(f"{module}.pyi")


def _function(name: str, value: Callable[..., Any]) -> Iterator[str]:
    fields: dict[str, FieldInfo] = vars(value)["__fields__"]
    yield f"def {name}("
    is_open = True  # for arguments without names
    for each, parameter in inspect.signature(value).parameters.items():
        if is_open and parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            is_open = False
            yield "    *,"
        default = "" if parameter.default is inspect.Parameter.empty else _default(parameter)
        yield f"    {each}: {_type(fields[each].annotation)}{default},"
    yield ") -> SpecPart:"
    yield from _docstring(value)


def _default(parameter: inspect.Parameter) -> str:
    value = parameter.default
    return f" = {value!r}" if value is None or isinstance(value, (bool, int, float)) else " = ..."


def _docstring(value: Callable[..., Any]) -> Iterator[str]:
    text, _, arguments = (value.__doc__ or "").partition("\n\nArgs:\n")
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        joined = " ".join(paragraph.split())
        lines += [*textwrap.wrap(joined, _WIDTH, initial_indent=_IN, subsequent_indent=_IN), ""]
    if arguments:
        lines.append(f"{_IN}Args:")
    for line in arguments.splitlines():
        lines += textwrap.wrap(
            line.strip(), _WIDTH, initial_indent=_IN * 2, subsequent_indent=_IN * 3
        )
    yield '    """' + lines[0].lstrip()
    yield from lines[1:] if arguments else lines[1:-1]
    yield '    """'


def _type(hint: Any) -> str:
    """Returns a type as it is written in Python; parts are mappings."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is type(None):
        return "None"
    if origin is Annotated:
        return _type(arguments[0])
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(map(_type, arguments)))
    if origin is tuple:
        item = _type(arguments[0])
        return f"Sequence[{item}]" + (" | Array" if item in ("float", "int") else "")
    if origin is dict:
        return f"Mapping[str, {_type(arguments[1])}]"
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return "Mapping[str, Any]"
    return str(getattr(hint, "__name__", "Any"))


if __name__ == "__main__":
    for each in MODULES:
        path(each).write_text(stub(each), encoding="utf-8")
