"""Environment variables of a runner that depend on the job's device."""

from __future__ import annotations

from ipulse.spec import ExperimentSpec
from ipulse_core.poplar_environment import poplar_environment


def device_environment(spec: ExperimentSpec, work_dir: str) -> dict[str, str]:
    """Return variables that must be set when the runner starts; a warm runner lacks them."""
    return poplar_environment(spec.device, work_dir) if spec.device.kind == "ipu" else {}
