"""Says whether this machine has a sandbox for code of users: one line of JSON, for the agent."""

from __future__ import annotations

import json
import os
import sys

from ipulse_worker.runner.sandbox.bubblewrap import is_switched_off, require_bubblewrap
from ipulse_worker.runner.sandbox.unavailable import SandboxUnavailable


def main() -> None:
    """Print the state of the sandbox, and why there is none."""
    state, message = "bubblewrap", ""
    if is_switched_off(os.environ):
        state = "off"
    else:
        try:
            require_bubblewrap()
        except SandboxUnavailable as error:
            state, message = "missing", error.message
        except OSError as error:
            state, message = "missing", str(error)
    sys.stdout.write(json.dumps({"state": state, "message": message}) + "\n")


if __name__ == "__main__":
    main()
