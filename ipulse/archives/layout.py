"""The files of an archive: one zip, without compression, with everything of a job that has ended.

The order is fixed and there are no times: equal jobs give equal bytes.
"""

from __future__ import annotations

import json
from typing import Any

CHECKSUMS, JOB, SPEC, EVENTS = "checksums.sha256", "job.json", "spec.json", "events.jsonl"
METADATA = "ro-crate-metadata.json"
FILES = "files/"
MANIFEST = f"{FILES}manifest.json"
NEEDED = (JOB, SPEC, EVENTS, METADATA, CHECKSUMS)

# Fields that an archive does not have: of the service that imported the job, of who reads it, and
# what follows from others.
NOT_ARCHIVED = frozenset({"allowed", "cycles_band", "imported"})


def canonical(value: Any) -> bytes:
    """Return JSON with sorted keys on one line: equal values have equal bytes."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode() + b"\n"
