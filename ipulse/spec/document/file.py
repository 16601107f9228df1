"""Reads specs from YAML or JSON files and reports problems with their lines."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from ipulse.spec import AnySpec, ExperimentSpec, parse_job_spec, parse_spec
from ipulse.spec.document.yaml_document import parse, yaml
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, InvalidJSON, InvalidSpec, Problem
from ipulse_core.limits import MAX_SPEC_BYTES

_Spec = TypeVar("_Spec")

# A character beyond U+FFFF as JSON escapes it, after any number of escaped backslashes.
_PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)


@dataclass(frozen=True)
class PlacedProblem(Problem):
    """A problem and its place in a file; line and column count from 1, 0 is unknown."""

    file: str = ""
    line: int = 0
    column: int = 0

    def to_json(self) -> dict[str, Any]:
        """Returns the problem as JSON."""
        return {**super().to_json(), "file": self.file, "line": self.line}

    def __str__(self) -> str:
        place = ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])
        return (
            f"{place}: {self.pointer}: {self.detail}" if self.pointer else f"{place}: {self.detail}"
        )


@dataclass(frozen=True)
class SpecFile:
    """A parsed file: its value, and the lines of its parts."""

    name: str
    value: Any
    root: yaml.Node | None = field(repr=False, compare=False)
    text: str = field(default="", repr=False, compare=False)  # as it was written
    form: Literal["yaml", "json"] = field(default="yaml", compare=False)
    # Places of parts that are not from the file, by pointer.
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def spec(self) -> ExperimentSpec:
        """Returns the spec in the file.

        Raises:
            InvalidSpec: With the line of every problem.
        """
        return self._parsed(parse_spec)

    def job_spec(self) -> AnySpec:
        """Returns the spec in the file, of any kind.

        Raises:
            InvalidSpec: With the line of every problem.
        """
        return self._parsed(parse_job_spec)

    def _parsed(self, parse_value: Callable[[Any], _Spec]) -> _Spec:
        try:
            return parse_value(self.value)
        except InvalidSpec as error:
            raise InvalidSpec([self.placed(problem) for problem in error.problems]) from None

    def placed(self, problem: Problem) -> PlacedProblem:
        """Returns the problem with its line, or with the setting that it is about."""
        at = problem.pointer
        while at and at not in self.origins:
            at = at.rpartition("/")[0]
        if at:
            place = self.origins[at]
            return PlacedProblem(problem.pointer, problem.code, problem.detail, place)
        line = self.line_of(problem.pointer)
        return PlacedProblem(problem.pointer, problem.code, problem.detail, self.name, line)

    def line_of(self, pointer: str) -> int:
        """Returns the line that a JSON pointer refers to, or that of the nearest enclosing part."""
        node, line = self.root, 1
        for name in strict_json.pointer_keys(pointer):
            if isinstance(node, yaml.MappingNode):
                pairs = {key.value: (key, item) for key, item in node.value}
                if name not in pairs:
                    return line
                key, node = pairs[name]
                line = key.start_mark.line + 1
            elif isinstance(node, yaml.SequenceNode) and name.isdigit():
                if int(name) >= len(node.value):
                    return line
                node = node.value[int(name)]
                line = node.start_mark.line + 1
            else:
                return line
        return line


def read_spec_file(path: Path) -> SpecFile:
    """Reads a file, or standard input if the path is `-`.

    Raises:
        InvalidSpec: The content is not YAML; with the line.
        InvalidInput: The file cannot be read.
    """
    name = "(standard input)" if str(path) == "-" else str(path)
    try:
        if str(path) == "-":
            content = sys.stdin.buffer.read(MAX_SPEC_BYTES + 1)
        else:
            with open(path, "rb") as file:
                content = file.read(MAX_SPEC_BYTES + 1)
    except OSError as error:
        detail = f"{name}: {error.strerror}"
        raise InvalidInput([Problem("", "unreadable", detail)], "cannot read the spec") from error
    return parse_spec_file(content, name)


def parse_spec_file(content: bytes, name: str) -> SpecFile:
    """Parses the content of a file.

    Raises:
        InvalidSpec: The content is not YAML; with the line.
    """
    if len(content) > MAX_SPEC_BYTES:
        raise _invalid(name, f"more than {MAX_SPEC_BYTES:,} bytes; a spec has a few hundred")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _invalid(name, "not UTF-8", line) from error
    text = _readable(text, name)
    is_json, value = _json(text)
    try:
        parsed, root = parse(text if not is_json else _without_pairs(text))
    except yaml.MarkedYAMLError as error:
        if is_json:
            return SpecFile(name=name, value=value, root=None, text=text, form="json")
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
        raise _invalid(name, error.problem or "not YAML", line, column) from error
    except RecursionError as error:
        raise _invalid(name, "nested too deeply") from error
    if root is None:
        raise _invalid(name, "the file is empty")
    return SpecFile(
        name=name,
        value=value if is_json else parsed,
        root=root,
        text=text,
        form="json" if is_json else "yaml",
    )


def _readable(text: str, name: str) -> str:
    match = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if match is not None:
        line = text.count("\n", 0, match.start()) + 1
        raise _invalid(name, f"the character U+{ord(match.group()):04X} is not allowed", line)
    return text


def _json(text: str) -> tuple[bool, Any]:
    """Returns whether the text is JSON, and its value. YAML may begin with a brace, too."""
    if not text.lstrip().startswith("{"):
        return False, None
    try:
        return True, strict_json.loads(text, whole_as_int=True)
    except InvalidJSON:
        return False, None


def _without_pairs(text: str) -> str:
    r"""Returns JSON as YAML: "\ud83d\ude00" is one character only in JSON."""
    return _PAIR.sub(lambda match: match[1] + json.loads(f'"{match[2]}"'), text)


def _invalid(name: str, detail: str, line: int = 0, column: int = 0) -> InvalidSpec:
    return InvalidSpec([PlacedProblem("", "invalid_yaml", detail, name, line, column)])
