"""Reads specs from YAML or JSON files and reports problems with their lines.

YAML is read as version 1.2 defines it: `1e-3` is a number, `no` is text, dates are text, and no tag
makes anything but data. A repeated key is refused.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ipulse.install_hint import install_hint
from ipulse.spec import ExperimentSpec, parse_spec
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, InvalidJSON, InvalidSpec, MissingDependency, Problem

try:
    import yaml
except ImportError as error:
    raise MissingDependency(
        f"spec files are read with PyYAML, which is not installed: {install_hint('cli')}"
    ) from error

MAX_BYTES = 2**20  # the service accepts no more


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
    _root: yaml.Node | None = field(repr=False, compare=False)

    def spec(self) -> ExperimentSpec:
        """Returns the spec in the file.

        Raises:
            InvalidSpec: With the line of every problem.
        """
        try:
            return parse_spec(self.value)
        except InvalidSpec as error:
            raise InvalidSpec([self.placed(problem) for problem in error.problems]) from None

    def placed(self, problem: Problem) -> PlacedProblem:
        """Returns the problem with its line."""
        line = self.line_of(problem.pointer)
        return PlacedProblem(problem.pointer, problem.code, problem.detail, self.name, line)

    def line_of(self, pointer: str) -> int:
        """Returns the line that a JSON pointer refers to, or that of the nearest enclosing part."""
        node, line = self._root, 1
        for token in pointer.split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
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
            content = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(path, "rb") as file:
                content = file.read(MAX_BYTES + 1)
    except OSError as error:
        detail = f"{name}: {error.strerror}"
        raise InvalidInput([Problem("", "unreadable", detail)], "cannot read the spec") from error
    return parse_spec_file(content, name)


def parse_spec_file(content: bytes, name: str) -> SpecFile:
    """Parses the content of a file.

    Raises:
        InvalidSpec: The content is not YAML; with the line.
    """
    if len(content) > MAX_BYTES:
        raise _invalid(name, f"more than {MAX_BYTES:,} bytes; a spec has a few hundred")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _invalid(name, "not UTF-8", line) from error
    loader = _Loader(_readable(text, name))
    try:
        root = loader.get_single_node()
        value = None if root is None else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
        raise _invalid(name, error.problem or "not YAML", line, column) from error
    except RecursionError as error:
        raise _invalid(name, "nested too deeply") from error
    except (ValueError, OverflowError) as error:  # in an escape such as "\\UFFFFFFFF"
        detail = "an escape or a version is out of range"
        raise _invalid(name, detail, loader.line + 1, loader.column + 1) from error
    if root is None:
        raise _invalid(name, "the file is empty")
    return SpecFile(name=name, value=_as_json(text, value), _root=root)


def _readable(text: str, name: str) -> str:
    match = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if match is not None:
        line = text.count("\n", 0, match.start()) + 1
        raise _invalid(name, f"the character U+{ord(match.group()):04X} is not allowed", line)
    return text


def _as_json(text: str, value: Any) -> Any:
    # JSON documents are YAML, with one exception: "\ud83d\ude00" is one character in JSON.
    if not text.lstrip().startswith("{"):
        return value
    try:
        return strict_json.loads(text)
    except InvalidJSON:
        return value  # YAML in braces


def _invalid(name: str, detail: str, line: int = 0, column: int = 0) -> InvalidSpec:
    return InvalidSpec([PlacedProblem("", "invalid_yaml", detail, name, line, column)])


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the core schema of YAML 1.2 and unique keys."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # as PyYAML defines it

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError):
            tag = node.tag.rpartition(":")[2]
            raise yaml.constructor.ConstructorError(
                None, None, f"this is no value of the tag {tag!r}", node.start_mark
            ) from None

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Does not merge: YAML 1.2 has no merge keys, and a chain of them grows exponentially."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[tuple[str, str] | None] = set()
        for key, _ in node.value:
            name = (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else None
            if name is not None and name in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} occurs twice", key.start_mark
                )
            seen.add(name)
        return super().construct_mapping(node, deep)

    def construct_integer(self, node: yaml.ScalarNode) -> int:
        text = self.construct_scalar(node)
        bases = {"0o": 8, "0x": 16}
        try:
            return int(text[2:], bases[text[:2]]) if text[:2] in bases else int(text)
        except ValueError:
            raise yaml.constructor.ConstructorError(
                None, None, "an integer has thousands of digits", node.start_mark
            ) from None


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_integer)
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+0123456789."),
    ),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first
    )
