"""Why a NIR file cannot be imported."""

from __future__ import annotations

from ipulse_core.errors import IPUlseError


class NirInvalid(IPUlseError):
    """The NIR file cannot be imported."""

    code = "nir_invalid"


def at_node(name: str, detail: str) -> NirInvalid:
    """Return the error of a node."""
    return NirInvalid(f"node {name[:100]!a}: {detail}")
