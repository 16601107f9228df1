"""`python -m ipulse_worker.agent`."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Run the agent and return its exit code."""
    # Imports make only objects that stay: collecting garbage meanwhile takes a tenth of a start.
    gc.disable()
    block_optional_imports()
    from ipulse_worker.agent import program

    return program.main()


def block_optional_imports() -> None:
    """Block two optional imports of libraries, which take a quarter of a start.

    httpx imports its command line's terminal output, kombu a decoder for YAML messages.
    """
    for module in ("httpx._main", "yaml"):
        sys.modules[module] = None  # type: ignore[assignment]  # an import of it raises ImportError


if __name__ == "__main__":
    sys.exit(main())
