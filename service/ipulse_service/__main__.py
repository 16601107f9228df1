"""Runs the service: `python -m ipulse_service`."""

from __future__ import annotations

import gc
import sys

gc.disable()  # the imports leave no garbage: looking for some takes a tenth of the start
from ipulse_service import program  # noqa: E402

if __name__ == "__main__":
    sys.exit(program.main())
