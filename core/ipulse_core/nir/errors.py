"""Why a NIR file cannot be imported."""

from __future__ import annotations

from typing import Mapping, Sequence, Tuple

from ipulse_core.errors import IPUlseError

Choice = Tuple[Mapping[str, str], str]  # options of an import by name, and what they mean


class NirInvalid(IPUlseError):
    """The NIR file cannot be imported."""

    code = "nir_invalid"


class NirAmbiguous(NirInvalid):
    """The NIR file does not tell what its neurons do."""

    code = "nir_ambiguous"

    def __init__(self, message: str, choices: Sequence[Choice]) -> None:
        super().__init__(message)
        self.choices = list(choices)


def at_node(name: str, detail: str) -> NirInvalid:
    """Return the error of a node."""
    return NirInvalid(f"node {name[:100]!a}: {detail}")
