"""What the core's tests leave out on the runner's Python."""

from __future__ import annotations

import sys

collect_ignore = ["test_json_schema.py"] if sys.version_info < (3, 11) else []
