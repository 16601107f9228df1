"""Finds examples/digits.yaml, the spec that `ipulse demo` runs."""

from __future__ import annotations

from pathlib import Path

from ipulse_core.errors import NotFound

_PACKAGE = Path(__file__).resolve().parents[2]


def example_path() -> Path:
    """Returns the path of digits.yaml, in a checkout or in an installation.

    Raises:
        NotFound: It was not installed.
    """
    # The wheel contains the repository's file inside the package.
    for folder in (_PACKAGE / "examples", _PACKAGE.parent / "examples"):
        if (folder / "digits.yaml").is_file():
            return folder / "digits.yaml"
    raise NotFound("digits.yaml was not installed: name a spec with --spec FILE")
