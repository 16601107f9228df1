"""Writes documents of specs as YAML that reads as the same values in YAML 1.2 and 1.1."""

from __future__ import annotations

from typing import Any

from ipulse_core.errors import InvalidSpec, Problem

from .yaml_document import RESOLVERS, yaml


class _Dumper(yaml.SafeDumper):
    """PyYAML's dumper, which quotes text that either version would read as something else."""

    def ignore_aliases(self, data: Any) -> bool:
        """Returns True: equal parts are written in full."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        """Indents lists below their key."""
        return super().increase_indent(flow, False)


_Dumper.yaml_implicit_resolvers = {
    first: [
        *RESOLVERS.get(first, []),
        *yaml.SafeDumper.yaml_implicit_resolvers.get(first, []),
    ]
    for first in {*RESOLVERS, *yaml.SafeDumper.yaml_implicit_resolvers}
}


def yaml_text(document: Any) -> str:
    """Returns a document as YAML.

    Raises:
        InvalidSpec: It has a value that is not JSON.
    """
    try:
        text: str = yaml.dump(
            document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
        )
    except yaml.representer.RepresenterError as error:
        kind = type(error.args[-1]).__name__
        detail = f"has a value of the type {kind}, which JSON does not know"
        raise InvalidSpec([Problem("", "wrong_type", detail)]) from None
    return text
