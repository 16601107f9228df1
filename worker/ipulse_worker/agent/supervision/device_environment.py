"""Environment variables of a runner that depend on the job's device."""

from __future__ import annotations

from ipulse_core.errors import InvalidInput
from ipulse_core.events import Assignment


def assigned_environment(assignment: Assignment) -> dict[str, str]:
    """Return variables that must be set when the runner starts; a warm runner lacks them.

    An invalid spec has none; its runner reports the error.
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
