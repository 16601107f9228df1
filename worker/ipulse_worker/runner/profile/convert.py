"""Converts a report of Poplar to a tile profile, in a sandbox: `python -m ... REPORT [DEBUG]`.

The report may be forged by the program that left it, and the SDK's `pva` reads it with native code.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ipulse_core import strict_json
from ipulse_worker.runner.profile import pva_profile
from ipulse_worker.runner.user_code.programs.outputs import PROFILE


def main() -> int:
    """Write the profile to the working directory; return 2 if this Python has no pva, else 0."""
    report, *debug = map(Path, sys.argv[1:])
    try:
        document = pva_profile.read(report, debug[0] if debug else None)
    except ImportError as error:
        sys.stderr.write(
            f"Poplar's report is not converted for the page: {error}. The module comes with the "
            "Poplar SDK (source .../poplar/enable.sh)\n"
        )
        return 2
    Path(PROFILE).write_text(strict_json.dumps(document), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
