"""The classes of devices by `device.kind`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, Type

from ipulse_worker.runner.backends.cpu import CPU
from ipulse_worker.runner.backends.device import Device
from ipulse_worker.runner.backends.emulator import Emulator
from ipulse_worker.runner.backends.ipu import IPU
from ipulse_worker.runner.devices.description import Log

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

KINDS: Dict[str, Type[Device]] = {device.kind: device for device in (CPU, Emulator, IPU)}


def device_of(spec: ExperimentSpec, log: Log, check: Callable[[], None]) -> Device:
    """Return the device of a spec, without building or waiting."""
    return KINDS[spec.device.kind](spec, log, check)
