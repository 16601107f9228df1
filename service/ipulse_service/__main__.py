"""`python -m ipulse_service`."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Returns the exit code."""
    # All that imports make stays, and looking through it for rubbish takes a tenth of a start.
    gc.disable()
    from ipulse_service import program

    return program.main()


if __name__ == "__main__":
    sys.exit(main())
