"""The spec that `ipulse demo` runs: examples/digits.yaml, of a checkout or of an installation."""

from __future__ import annotations

from pathlib import Path

from ipulse_core.errors import NotFound

_PACKAGE = Path(__file__).resolve().parents[1]


def example_path() -> Path:
    """Where digits.yaml lies. Raises NotFound if it was not installed."""
    # The wheel carries the one file of the repository inside the package.
    for folder in (_PACKAGE / "examples", _PACKAGE.parent / "examples"):
        if (folder / "digits.yaml").is_file():
            return folder / "digits.yaml"
    raise NotFound("digits.yaml was not installed: name a spec with --spec FILE")
