"""Parses YAML 1.2 to JSON values.

`1e-3` is a number, `no` is text, dates are text, and no tag makes anything but data. Keys are text,
whatever they look like, and a repeated key is refused. The parser is libyaml, which reads a
megabyte in a second.
"""

from __future__ import annotations

import re
from typing import Any

from ipulse.install_hint import install_hint
from ipulse_core import strict_json
from ipulse_core.errors import MissingDependency

try:
    import yaml as yaml
except ImportError as error:
    raise MissingDependency(
        f"spec files are read with PyYAML, which is not installed: {install_hint('cli')}"
    ) from error
if not yaml.__with_libyaml__:
    raise MissingDependency(
        f"this PyYAML was built without libyaml, as published ones are not: {install_hint('cli')}"
    )

_BOUNDED = (yaml.SequenceStartEvent, yaml.MappingStartEvent)
_ENDS = (yaml.SequenceEndEvent, yaml.MappingEndEvent)
_KEY_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null")}


def parse(text: str) -> tuple[Any, yaml.Node | None]:
    """Returns the value of a document, and its root node, which knows the lines.

    Raises:
        yaml.MarkedYAMLError: The text is not YAML.
        RecursionError: It is nested deeper than JSON may be.
    """
    _check_depth(text)
    loader = _Loader(text)
    root = loader.get_single_node()
    return None if root is None else loader.construct_document(root), root


def _check_depth(text: str) -> None:
    """Bounds the nesting before nodes are made, for which libyaml's binding calls itself."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, _BOUNDED):
            depth += 1
            if depth > strict_json.MAX_DEPTH:
                raise RecursionError
        elif isinstance(event, _ENDS):
            depth -= 1


class _Loader(yaml.CSafeLoader):
    """PyYAML's safe loader with the core schema of YAML 1.2 and unique keys of text."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # as PyYAML defines it

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError):
            tag = node.tag.rpartition(":")[2]
            raise _refused(f"this is no value of the tag {tag!r}", node) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        # YAML 1.2 has no merge keys, and a chain of them grows exponentially.
        result: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag not in _KEY_TAGS:
                raise _refused("a key must be text", key)
            if key.value in result:
                raise _refused(f"the key {key.value!r} occurs twice", key)
            result[key.value] = self.construct_object(value, deep)
        return result

    def construct_integer(self, node: yaml.ScalarNode) -> int:
        text = self.construct_scalar(node)
        bases = {"0o": 8, "0x": 16}
        try:
            return int(text[2:], bases[text[:2]]) if text[:2] in bases else int(text)
        except ValueError:
            raise _refused("an integer has thousands of digits", node) from None

    def construct_float(self, node: yaml.ScalarNode) -> float:
        # 1.0 is an integer, too, as it is in JSON.
        return strict_json.number(repr(self.construct_yaml_float(node)))


def _refused(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_float)
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

# Tags that plain text may have, by its first character.
RESOLVERS = _Loader.yaml_implicit_resolvers
