"""Checks a custom-op library without an IPU: `python -m ipulse_ops.check LIB.so`.

Exit code 0: usable; 1: the library breaks the contract; 2: the file is not a library.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import List, Optional

from ipulse_core.build_cache.toolchain import NativeError
from ipulse_core.ipu import API_LEVEL
from ipulse_ops.check.findings import INPUTS, OLD_LEVEL, Finding, check
from ipulse_ops.check.symbols import NotALibrary


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m ipulse_ops.check", description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--op", action="append", default=[], metavar="NAME")
    parser.add_argument("--level", type=int, choices=(OLD_LEVEL, API_LEVEL), default=API_LEVEL)
    parser.add_argument("--inputs", type=int, default=INPUTS)
    parser.add_argument("--pre-compile", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        found = check(
            options.library, options.op, options.level, options.pre_compile, options.inputs
        )
    except (NotALibrary, NativeError, OSError) as error:
        reason = f"{options.library}: {error.strerror}" if isinstance(error, OSError) else error
        sys.stderr.write(f"{reason}\n")
        return 2
    fine = all(finding.severity != "error" for finding in found)
    if options.json:
        findings = [finding._asdict() for finding in found]
        sys.stdout.write(json.dumps({"fine": fine, "findings": findings}) + "\n")
    else:
        sys.stdout.write("".join(_line(finding) for finding in found))
        sys.stdout.write("fine\n" if fine else "not fit for use\n")
    return 0 if fine else 1


def _line(finding: Finding) -> str:
    of = f"{finding.op}: " if finding.op else ""
    return f"{finding.severity} {finding.code}: {of}{finding.message}\n"


if __name__ == "__main__":
    sys.exit(main())
