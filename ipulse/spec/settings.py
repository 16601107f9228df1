"""Settings of single fields, such as `training.epochs=5`, that replace values of a spec."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ipulse.spec import ExperimentSpec, parse_spec, spec_to_json
from ipulse.spec.file import PlacedProblem, SpecFile, parse_spec_file, read_spec_file
from ipulse_core import strict_json
from ipulse_core.errors import InvalidSpec, Problem

_FORM = "must look like training.epochs=5 or /network/layers/0/neurons=64"
_NAME = r"[^.\[\]/]+"
_DOTTED = re.compile(rf"{_NAME}(?:\.{_NAME}|\[[0-9]+\])*")
_PART = re.compile(rf"{_NAME}|\[[0-9]+\]")
_BAD_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


def read_spec(path: Path, settings: Sequence[str] | None = None) -> ExperimentSpec:
    """Return the spec in a file, with the fields that settings replace. Raises InvalidSpec."""
    original = read_spec_file(path)
    if not settings:
        return original.spec()
    changed = with_settings(original, settings)
    try:
        return changed.spec()
    except InvalidSpec as error:
        raise _with_near_names(changed, original, error) from None


def with_settings(file: SpecFile, settings: Sequence[str]) -> SpecFile:
    """Return the file with the fields that the settings name; the last of equal names counts.

    A setting is a path, an equals sign and a YAML value. The path is a JSON pointer, or names with
    dots and indices in brackets. Objects on the way are created. Raises InvalidSpec.
    """
    value, origins = file.value, dict(file.origins)
    for setting in settings:
        place = f"--set {setting[:80]}"
        path, equals, text = setting.partition("=")
        tokens = _tokens(path)
        if not equals or not tokens:
            raise _refused("", _FORM, place)
        if len(tokens) > strict_json.MAX_DEPTH:
            raise _refused("", "nested too deeply", place)
        # The file's own problems are more helpful if the file is no object at all.
        if not isinstance(value, dict):
            return file
        new = _yaml(text, place)
        pointers = [_pointer(tokens[:end]) for end in range(1, len(tokens) + 1)]
        created = next(at for at in pointers if at == pointers[-1] or not _exists(value, at))
        value = _replaced(value, tokens, 0, new, place)
        origins |= {created: place, pointers[-1]: place}
    return SpecFile(file.name, value, file.root, origins)


def _with_near_names(file: SpecFile, original: SpecFile, error: InvalidSpec) -> InvalidSpec:
    """Return the error with the paths of fields elsewhere that a wrong setting may mean."""
    try:
        known = list(_fields(spec_to_json(parse_spec(original.value)), ""))
    except InvalidSpec:
        return error
    return InvalidSpec([_with_near_name(file, problem, known) for problem in error.problems])


def _with_near_name(file: SpecFile, problem: Problem, known: Sequence[str]) -> Problem:
    if not isinstance(problem, PlacedProblem) or problem.file == file.name:
        return problem
    if problem.code != "unknown_field" or "did you mean" in problem.detail:
        return problem
    wrong = problem.pointer.rpartition("/")[2][:60]
    names = {pointer.rpartition("/")[2] for pointer in known}
    near = difflib.get_close_matches(wrong, sorted(names), n=1, cutoff=0.75)
    found = [pointer for pointer in known if pointer.rpartition("/")[2] in near][:5]
    if not found:
        return problem
    detail = f"there is no such field; did you mean {' or '.join(found)}?"
    return PlacedProblem(problem.pointer, problem.code, detail, problem.file)


def _tokens(path: str) -> list[str]:
    if path.startswith("/") and not _BAD_ESCAPE.search(path):
        return strict_json.pointer_keys(path)
    if _DOTTED.fullmatch(path):
        return [part.strip("[]") for part in _PART.findall(path)]
    return []


def _yaml(text: str, place: str) -> Any:
    if not text.strip():
        return None
    return parse_spec_file(text.encode("utf-8", "surrogateescape"), place).value


def _replaced(node: Any, tokens: Sequence[str], at: int, new: Any, place: str) -> Any:
    """Return a copy of a node with another value; parts beside the path are shared with it."""
    if at == len(tokens):
        return new
    token, pointer = tokens[at], _pointer(tokens[:at])
    if isinstance(node, dict):
        child = node.get(token, {})
        return {**node, token: _replaced(child, tokens, at + 1, new, place)}
    if not isinstance(node, list):
        raise _refused(pointer, "this is neither an object nor a list: it has no parts", place)
    if not _INDEX.fullmatch(token) or int(token) >= len(node):
        count = f"{len(node)} item" + ("" if len(node) == 1 else "s")
        detail = f"the list has {count}, counted from 0: there is no item {token[:20]!r}"
        raise _refused(pointer, detail, place)
    changed = list(node)
    changed[int(token)] = _replaced(node[int(token)], tokens, at + 1, new, place)
    return changed


def _exists(value: Any, pointer: str) -> bool:
    for name in strict_json.pointer_keys(pointer):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            return False
    return True


def _fields(value: Any, pointer: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            inside = f"{pointer}/{strict_json.escape(name)}"
            yield inside
            yield from _fields(item, inside)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _fields(item, f"{pointer}/{index}")


def _pointer(tokens: Sequence[str]) -> str:
    return "".join(f"/{strict_json.escape(token)}" for token in tokens)


def _refused(pointer: str, detail: str, place: str) -> InvalidSpec:
    return InvalidSpec([PlacedProblem(pointer, "bad_setting", detail, place)])
