"""Prints cached executables and builds of ops as JSON, and prunes the cache on request.

The command is `python -m ipulse_ops.build_cache.kept_executables [--prune]`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional

from ipulse_core.build_cache.executables import ExecutableCache
from ipulse_core.build_cache.limits import Entry, Limits
from ipulse_core.build_cache.op_builds import OpBuilds, limits_of_op_builds
from ipulse_ops.build_cache.poplar_executables import PoplarExecutables


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command line. Return 0, or 2 for an invalid limit."""
    parser = argparse.ArgumentParser(
        prog="python -m ipulse_ops.build_cache.kept_executables", description=__doc__
    )
    parser.add_argument("--prune", action="store_true", help="remove executables beyond the limits")
    parser.add_argument("--beyond", action="store_true", help="list what --prune would remove")
    parser.add_argument("--bytes", type=int, help="limit of each cache in bytes")
    parser.add_argument("--days", type=float, help="limit of the days since the last use")
    options = parser.parse_args(arguments)
    try:
        limits = Limits.of_environment(options.bytes, options.days)
        op_limits, ops = limits_of_op_builds(options.bytes, options.days), OpBuilds()
        emulated, poplar = ExecutableCache(_ignore), PoplarExecutables()
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    removed = []
    if options.beyond:
        now = time.time()
        old = list(limits.beyond(emulated.entries(), now))
        removed += [_row("emulator", entry, False) for entry in old]
        old = [each for each in limits.beyond(poplar.entries(), now) if not poplar.is_in_use(each)]
        removed += [_row("ipu", entry, False) for entry in old]
        old = [each for each in op_limits.beyond(ops.entries(), now) if not ops.is_in_use(each)]
        removed += [_row("op", entry, False) for entry in old]
    if options.prune:
        removed += [_row("emulator", entry, False) for entry in emulated.prune(limits)]
        removed += [_row("ipu", entry, False) for entry in poplar.prune(limits)]
        removed += [_row("op", entry, False) for entry in ops.prune(op_limits)]
    rows = [_row("emulator", entry, False) for entry in sorted(emulated.entries())]
    rows += [_row("ipu", entry, poplar.is_in_use(entry)) for entry in sorted(poplar.entries())]
    rows += [_row("op", entry, ops.is_in_use(entry)) for entry in sorted(ops.entries())]
    report = {
        "directories": {
            "emulator": str(emulated.directory),
            "ipu": str(poplar.directory),
            "op": str(ops.directory),
        },
        "limits": {"bytes": limits.bytes, "days": limits.days, "op_bytes": op_limits.bytes},
        "bytes": sum(row["bytes"] for row in rows),
        "executables": rows,
        "removed": removed,
    }
    sys.stdout.write(json.dumps(report) + "\n")
    return 0


def _row(device: str, entry: Entry, in_use: bool) -> Dict[str, Any]:
    used = datetime.fromtimestamp(entry.used, timezone.utc)
    return {
        "device": device,
        "key": entry.path.name.partition(".")[0].replace("op-", "", 1),
        "bytes": entry.bytes,
        "used_at": used.isoformat(timespec="seconds"),
        "in_use": in_use,
    }


def _ignore(warning: str) -> None:
    """Ignore a warning about an executable: none is loaded here."""


if __name__ == "__main__":
    sys.exit(main())
