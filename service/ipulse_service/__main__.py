"""Runs the service: `python -m ipulse_service`."""

from __future__ import annotations

import sys

from ipulse_service import program

if __name__ == "__main__":
    sys.exit(program.main())
