"""Says whether this machine has a sandbox for code of users: one line of JSON, for the agent.

The arguments are the kinds of the agent's devices.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

from ipulse_core.sandbox.state import BUBBLEWRAP, MISSING, sandbox_state
from ipulse_core.sandbox.unavailable import SandboxSilent, SandboxUnavailable
from ipulse_worker.runner.devices.ipu_link import IPULink
from ipulse_worker.runner.devices.pool import DeviceUnavailable


def main() -> None:
    """Print the state of the sandbox, and why there is none or what it lacks."""
    try:
        found = sandbox_state(os.environ)
        state, message = found.driver, found.describe()
        if found.driver == BUBBLEWRAP and sys.argv[1:] == ["ipu"]:
            _require_network()  # an agent with other devices runs code on those
    except SandboxSilent as error:
        state, message = "unknown", error.message
    except SandboxUnavailable as error:
        state, message = MISSING, error.message
    sys.stdout.write(json.dumps({"state": state, "message": message}) + "\n")


def _require_network() -> None:
    """Raise SandboxUnavailable if the IPUs need a network that code of users may not use."""
    with suppress(DeviceUnavailable):  # trainings say so, too
        IPULink.of_machine(os.environ).require_network()


if __name__ == "__main__":
    main()
