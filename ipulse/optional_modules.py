"""Imports of optional packages; their absence is explained."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ipulse.install_hint import install_hint
from ipulse_core.errors import MissingDependency


def optional_module(name: str, purpose: str, extra: str = "notebook") -> Any:
    """Import a package. Raises MissingDependency with the extra that installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != package:
            raise
        raise MissingDependency(
            f"{purpose} needs {package}, which is not installed: {install_hint(extra)}"
        ) from error


def data_frame(columns: dict[str, list[Any]], index: str | None = None) -> Any:
    """Return columns as a pandas DataFrame."""
    pandas = optional_module("pandas", "a DataFrame")
    frame = pandas.DataFrame(columns)
    return frame if index is None else frame.set_index(index)
