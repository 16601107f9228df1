"""The back end of `ipulse op new` and `ipulse op test`.

`python -m poplar_emulator.op_project` with `new NAME FOLDER` or `test FOLDER [--seed N]` prints one
JSON object. An error is `{"error": {"code", "message", "problems"}}`, with exit code 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from pathlib import Path
from typing import Any, Dict, List, Optional

from ipulse_core.build_cache.toolchain import NativeError
from ipulse_core.errors import InvalidInput, IPUlseError
from poplar_emulator.op_project.compare import compare
from poplar_emulator.op_project.scaffold import write_project


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m poplar_emulator.op_project")
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("new")
    new.add_argument("name")
    new.add_argument("folder", type=Path)
    new.add_argument("--layer", action="store_true")
    test = commands.add_parser("test")
    test.add_argument("folder", type=Path)
    test.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        if options.command == "new":
            written = write_project(options.name, options.folder, options.layer)
            result: Dict[str, Any] = {"files": [str(path) for path in written]}
        else:
            done = compare(options.folder, options.seed)
            arrays = [{**c._asdict(), "is_good": c.is_good} for c in done.comparisons]
            result = {**done._asdict(), "comparisons": arrays, "is_good": done.is_good}
    except Exception as error:  # noqa: BLE001 (the reference is the user's code)
        result = {"error": _error(error)}
    sys.stdout.write(json.dumps(result) + "\n")
    return int("error" in result)


def _error(error: Exception) -> Dict[str, Any]:
    if isinstance(error, InvalidInput):
        problems = [problem.to_json() for problem in error.problems]
        return {"code": error.code, "message": error.message, "problems": problems}
    if isinstance(error, IPUlseError):
        return {"code": error.code, "message": error.message, "problems": []}
    if isinstance(error, NativeError):
        return {"code": "not_built", "message": str(error), "problems": []}
    if isinstance(error, OSError):
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return {"code": "os_error", "message": message, "problems": []}
    traceback.print_exc(file=sys.stderr)
    return {"code": "failed", "message": f"{type(error).__name__}: {error}", "problems": []}


if __name__ == "__main__":
    sys.exit(main())
