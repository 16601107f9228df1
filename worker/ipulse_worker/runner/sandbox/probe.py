"""Says whether this machine has a sandbox for code of users: one line of JSON, for the agent.

The arguments are the kinds of the agent's devices.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

from ipulse_core.sandbox.bubblewrap import is_switched_off, require_bubblewrap
from ipulse_core.sandbox.unavailable import SandboxUnavailable
from ipulse_worker.runner.devices.ipu_link import IPULink
from ipulse_worker.runner.devices.pool import DeviceUnavailable


def main() -> None:
    """Print the state of the sandbox, and why there is none."""
    state, message = "bubblewrap", ""
    if is_switched_off(os.environ):
        state = "off"
    else:
        try:
            require_bubblewrap()
            if sys.argv[1:] == ["ipu"]:  # an agent with other devices runs code on those
                _require_network()
        except SandboxUnavailable as error:
            state, message = "missing", error.message
        except OSError as error:
            state, message = "missing", str(error)
    sys.stdout.write(json.dumps({"state": state, "message": message}) + "\n")


def _require_network() -> None:
    """Raise SandboxUnavailable if the IPUs need a network that code of users may not use."""
    with suppress(DeviceUnavailable):  # trainings say so, too
        IPULink.of_machine(os.environ).require_network()


if __name__ == "__main__":
    main()
