"""What a runner must be started with, beyond what every runner is: options of its device."""

from __future__ import annotations

from ipulse_core.errors import InvalidInput
from ipulse_core.events import Assignment


def assigned_environment(assignment: Assignment) -> dict[str, str]:
    """Variables that are read once when a process begins: one that waits has missed them.

    A spec that nobody understands has none; its runner will say what is wrong with it.
    """
    wanted = assignment.spec.get("device")
    if not isinstance(wanted, dict) or wanted.get("kind") != "ipu":
        return {}
    # Imported only here: it takes a seventh of an agent's start, and only IPUs have such options.
    from ipulse.spec import IPUDevice, parse_spec

    try:
        device = parse_spec(assignment.spec).device
    except InvalidInput:
        return {}
    return device.environment(assignment.work_dir) if isinstance(device, IPUDevice) else {}
