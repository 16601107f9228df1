"""Modules that are imported when a program first uses them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType


def importing(package: str, *modules: str) -> Callable[[str], ModuleType]:
    """Returns the `__getattr__` of a package that imports some of its modules on first use.

    Those of calls, with their pydantic models, take a twentieth of the time of `ipulse list`.
    """

    def find(name: str) -> ModuleType:
        if name in modules:
            return import_module(f".{name}", package)
        raise AttributeError(f"module {package} has no attribute {name}")

    return find
