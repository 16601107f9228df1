"""`python -m ipulse_ops.check LIB.so`: 0 if it honours the contract, 1 if not, 2 if it is no
library."""

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
    parser = argparse.ArgumentParser(prog="python -m ipulse_ops.check", description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--op", action="append", default=[], metavar="NAME")
    parser.add_argument("--level", type=int, choices=(OLD_LEVEL, API_LEVEL), default=API_LEVEL)
    parser.add_argument("--inputs", type=int, default=INPUTS)
    parser.add_argument("--pre-compile", action="store_true")
    parser.add_argument("--json", action="store_true")
    said = parser.parse_args(arguments)
    try:
        found = check(said.library, said.op, said.level, said.pre_compile, said.inputs)
    except (NotALibrary, NativeError, OSError) as error:
        why = f"{said.library}: {error.strerror}" if isinstance(error, OSError) else str(error)
        sys.stderr.write(f"{why}\n")
        return 2
    fine = all(finding.severity != "error" for finding in found)
    if said.json:
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
