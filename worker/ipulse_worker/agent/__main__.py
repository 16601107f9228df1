"""`python -m ipulse_worker.agent`."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Returns the exit code."""
    # All that imports make stays, and looking through it for rubbish takes a tenth of a start.
    gc.disable()
    leave_out()
    from ipulse_worker.agent import program

    return program.main()


def leave_out() -> None:
    """Keeps others from importing what they find installed, which is a quarter of a start: httpx
    what paints its command line's terminal, kombu a decoder of messages that are none of ours."""
    for module in ("httpx._main", "yaml"):
        sys.modules[module] = None  # type: ignore[assignment]  # as if it were not there


if __name__ == "__main__":
    sys.exit(main())
