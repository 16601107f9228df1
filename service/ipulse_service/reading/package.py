"""Checks a source package: `python -m ipulse_service.reading.package program|op FILE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ipulse_core import source_package
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.op_manifest.manifest import FILE
from ipulse_core.op_manifest.reader import parse_manifest
from ipulse_service.reading import child

MAX_MANIFEST = 65_536  # bytes


def read(arguments: list[str]) -> dict[str, Any]:
    """Checks a package and returns name and manifest of an op, nothing of a program.

    Raises InvalidInput for a package or manifest that is not valid.
    """
    purpose, path = arguments[0], Path(arguments[1])
    if purpose == "program":
        source_package.check_package(path)
        return {}
    files = source_package.read_package(path)
    content = files.get(FILE)
    if content is None:
        raise _invalid(f"the package has no {FILE} beside its other files")
    if len(content) > MAX_MANIFEST:
        raise _invalid(f"{FILE} may have {MAX_MANIFEST:,} bytes; this one has {len(content):,}")
    manifest = parse_manifest(content, files.__contains__)
    return {"name": manifest.name, "manifest": content.decode("utf-8")}


def _invalid(detail: str) -> InvalidInput:
    return InvalidInput([Problem("", "invalid_op", detail)])


if __name__ == "__main__":
    sys.exit(child.run(read))
