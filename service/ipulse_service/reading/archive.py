"""Reads the archive of a job: `python -m ipulse_service.reading.archive FILE DESCRIPTOR`.

It prints the job, its spec and files, and their places in the archive, and writes to the descriptor
a line of JSON for each attempt and event: what the service stores, all of it verified.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Any

from ipulse.archives.archived_event import ArchivedEvent
from ipulse.archives.layout import FILES
from ipulse.archives.verification import OpenArchive, open_archive
from ipulse.archives.zip_reader import invalid
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput
from ipulse_core.events import MetricEvent
from ipulse_core.limits import MAX_SPEC_BYTES
from ipulse_service.reading import child, metrics_fold

MAX_ROWS_BYTES = 2**29
CPU_SECONDS = 300


def read(arguments: list[str]) -> dict[str, Any]:
    """Verifies an archive, writes its rows, and returns the rest. Raises InvalidInput."""
    path, descriptor = Path(arguments[0]), int(arguments[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_ROWS_BYTES, MAX_ROWS_BYTES))
    with open_archive(path) as archive, os.fdopen(descriptor, "wb") as rows:
        job = archive.job.model_dump(mode="json", exclude={"attempts", "spec"})
        spec = strict_json.dumps(archive.job.spec)
        if len(spec) > 2 * MAX_SPEC_BYTES:
            limit = f"a spec may have {2 * MAX_SPEC_BYTES:,} characters with its defaults"
            raise invalid("/job.json/spec", "too_large", limit)
        for attempt in archive.job.attempts:
            _write(rows, attempt.model_dump(mode="json"))
        metrics = _write_events(archive, rows)
        files = [
            {**file.to_json(), "offset": archive.zip.offset(FILES + file.name)}
            for file in archive.files
        ]
    return {
        "job": job,
        "spec": spec,
        "attempts": len(archive.job.attempts),
        "files": files,
        "metrics": metrics,
    }


def _write_events(archive: OpenArchive, rows: Any) -> dict[str, dict[str, Any]]:
    """Writes all events, and returns the rows of the index of metrics."""
    index: dict[str, dict[str, Any]] = {}
    kept: dict[str, float] = {}
    kept_epoch = (archive.job.summary or {}).get("kept_epoch")
    for each in archive.events():
        _write(rows, _row(each))
        event = each.event
        if isinstance(event, MetricEvent) and event.scope == "epoch":
            metrics_fold.fold(index, event.epoch, event.values)
            if event.epoch == kept_epoch:
                kept = event.values
    if archive.job.summary:
        metrics_fold.keep(index, archive.job.summary, kept)
    return index


def _row(event: ArchivedEvent) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "time": event.time,
        "attempt": event.attempt,
        "kind": event.kind,
        "body": event.body,
    }


def _write(rows: Any, row: dict[str, Any]) -> None:
    try:
        rows.write(strict_json.dumps(row).encode() + b"\n")
    except OSError as error:
        raise _too_large() from error


def _too_large() -> InvalidInput:
    return invalid(
        "/events.jsonl", "too_large", f"its rows have more than {MAX_ROWS_BYTES:,} bytes"
    )


if __name__ == "__main__":
    sys.exit(child.run(read, cpu_seconds=CPU_SECONDS))
