"""Paths to the fields of a spec, as `--set`, sweeps and the Python interface read them.

A path is a JSON pointer (/training/epochs) or names with dots and indices in brackets
(network.layers[0].neurons). Its begin may be left out: `epochs` is training.epochs. It names a
field of the document, else a field of data, network, training or device, else a field anywhere.
The path of a field in the other version of a spec is accepted, too.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ipulse_core import strict_json
from ipulse_core.errors import InvalidSpec, Problem

from .field_tree import Tokens, fields_in_both, fields_of, in_version_of
from .field_tree import pointer as pointer

_FORM = "must look like training.epochs=5 or /network/layers/0/neurons=64"
_NAME = r"[^.\[\]/]+"
_DOTTED = re.compile(rf"{_NAME}(?:\.{_NAME}|\[[0-9]+\])*")
_PART = re.compile(rf"{_NAME}|\[[0-9]+\]")
_BAD_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_LISTED = 6  # fields that a message names


def find_path(document: Any, path: str) -> Tokens:
    """Returns the whole path of the field that a path means in this document.

    An unknown field is returned as it is: the validation of the document reports it.

    Raises:
        InvalidSpec: The text is not a path, or several fields are meant.
    """
    tokens = _tokens(path)
    if not tokens:
        raise refused("", _FORM)
    if len(tokens) > strict_json.MAX_DEPTH:
        raise refused("", "nested too deeply")
    if path.startswith("/"):
        return in_version_of(document, tokens)
    both = list(fields_in_both(document))
    known = [field for field, _ in both]
    if tokens[0] in document or (tokens[0],) in known:
        return in_version_of(document, tokens)
    matches = [field for field in known if field[-len(tokens) :] == tokens]
    if not matches:
        matches = [field for field, other in both if other[-len(tokens) :] == tokens]
    rest: Tokens = ()
    if not matches:  # a part that is not there yet: early_stopping.patience
        matches, rest = [field for field in known if field[-1] == tokens[0]], tokens[1:]
    # `epochs` stays training.epochs where the second threshold's ramp, which has epochs, is set.
    depth = len(tokens) - len(rest) + 1
    matches = [field for field in matches if len(field) == depth] or matches
    if len(matches) > 1:
        shown = [strict_json.dotted((*match, *rest)) for match in matches[:_LISTED]]
        more = f" or {len(matches) - _LISTED} more" if len(matches) > _LISTED else ""
        raise refused("", f"several fields end so: {' or '.join(shown)}{more}", "ambiguous")
    return in_version_of(document, (*matches[0], *rest) if matches else tokens)


def with_value(document: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """Returns a copy of a document with another value; objects on the way are created.

    Raises:
        InvalidSpec: The path leads through a value without parts, or beyond a list's end.
    """
    changed: dict[str, Any] = _replaced(document, path, 0, value)
    return changed


def with_near_names(document: Any, problem: Problem) -> Problem:
    """Returns the problem of an unknown field with the pointers of fields that may be meant.

    Other problems are returned as they are.
    """
    said = ("did you mean" in problem.detail, "in version 2" in problem.detail)
    is_explained = any(said) or "no such field" not in problem.detail
    if problem.code != "unknown_field" or is_explained:
        return problem
    wrong = problem.pointer.rpartition("/")[2]
    known = list(fields_of(document))
    names = {field[-1] for field in known}
    near = difflib.get_close_matches(wrong[:60], sorted(names), n=1, cutoff=0.75)
    found = [pointer(field) for field in known if field[-1] in near][:_LISTED]
    # A path that is the same is of another kind of layer or data: its fields are listed.
    if not found or problem.pointer in found:
        return problem
    detail = f"there is no such field; did you mean {' or '.join(found)}?"
    return replace(problem, detail=detail)


def exists(document: Any, path: Sequence[str]) -> bool:
    """Returns whether the document itself has a value there."""
    for name in path:
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and _INDEX.fullmatch(name) and int(name) < len(document):
            document = document[int(name)]
        else:
            return False
    return True


def refused(place: str, detail: str, code: str = "bad_setting") -> InvalidSpec:
    """Returns the error for a path or value that cannot be used."""
    return InvalidSpec([Problem(place, code, detail)])


def _tokens(path: str) -> Tokens:
    if path.startswith("/") and not _BAD_ESCAPE.search(path):
        return tuple(strict_json.pointer_keys(path))
    if _DOTTED.fullmatch(path):
        return tuple(part.strip("[]") for part in _PART.findall(path))
    return ()


def _replaced(node: Any, path: Sequence[str], at: int, new: Any) -> Any:
    """Returns a copy of a node with another value; parts off the path are shared with it."""
    if at == len(path):
        return new
    name, place = path[at], pointer(path[:at])
    if node is None and at:
        node = {}
    if isinstance(node, dict):
        # A layer without connections has one that is dense.
        usual: Any = [{}] if name == "connections" and path[0] == "network" else {}
        return {**node, name: _replaced(node.get(name, usual), path, at + 1, new)}
    if not isinstance(node, list):
        raise refused(place, "this is neither an object nor a list: it has no parts")
    if not _INDEX.fullmatch(name) or int(name) >= len(node):
        count = f"{len(node)} item" + ("" if len(node) == 1 else "s")
        detail = f"the list has {count}, counted from 0: there is no item {name[:20]!r}"
        raise refused(place, detail)
    changed = list(node)
    changed[int(name)] = _replaced(node[int(name)], path, at + 1, new)
    return changed
