"""On the runner's Python only the core is tested: it is all of `ipulse` that runs there."""

from __future__ import annotations

import sys

CORE = [
    "test_errors.py",
    "test_events.py",
    "test_messages.py",
    "test_schema.py",
    "test_spec.py",
    "test_states.py",
    "test_strict_json.py",
]

if sys.version_info < (3, 11):
    from pathlib import Path

    collect_ignore = [
        path.name
        for path in Path(__file__).parent.iterdir()
        if path.name not in CORE and (path.is_dir() or path.name.startswith("test_"))
    ]
