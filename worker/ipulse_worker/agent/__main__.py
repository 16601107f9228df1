"""Runs the agent: `python -m ipulse_worker.agent`."""

from __future__ import annotations

import sys

from ipulse_worker.agent import program

if __name__ == "__main__":
    sys.exit(program.main())
