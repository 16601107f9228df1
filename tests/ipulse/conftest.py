"""On the runner's Python only the core is tested: it is all of `ipulse` that runs there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Iterator

import pytest

if TYPE_CHECKING:
    from .live_service import LiveService

CORE = [
    "test_blocks.py",
    "test_errors.py",
    "test_events.py",
    "test_messages.py",
    "test_schema.py",
    "test_spec.py",
    "test_spec_misfits.py",
    "test_spec_of_ipus.py",
    "test_states.py",
    "test_strict_json.py",
]

if sys.version_info < (3, 11):
    collect_ignore = [
        path.name
        for path in Path(__file__).parent.iterdir()
        if path.name not in CORE and (path.is_dir() or path.name.startswith("test_"))
    ]


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """The real service, shared by the tests of a run: each has its own jobs."""
    from .live_service import LiveService  # not there on the runner's Python

    with LiveService(tmp_path_factory.mktemp("home")) as live:
        yield live
