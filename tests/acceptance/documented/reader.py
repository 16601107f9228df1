"""The reader who follows the pages, from docs/, which is no package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from tests.acceptance.locked_tools import ROOT


def new_reader(home: Path) -> Any:
    """Return a Reader of docs/reader.py with this home directory."""
    return reader_class()(home)


def reader_class() -> Any:
    """Return the class Reader of docs/reader.py."""
    loaded = importlib.util.spec_from_file_location("reader", ROOT / "docs" / "reader.py")
    assert loaded is not None
    assert loaded.loader is not None
    module = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(module)
    return module.Reader
