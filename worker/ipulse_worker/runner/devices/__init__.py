"""What a training runs on: a class for each `device.kind` of a spec, all of them a `Device`.

An attempt asks `device_of` for the one that its spec names, and takes the phases in the order in
which the device has them (`Device.phases`). It calls, each at most once:

    configure()     in prepare: before TensorFlow's first op
    compile(slots)  in compile: ops, executables and graphs; a Model ready for its first step
    acquire()       in acquire: waits until the device is this attempt's alone, and says on whom
    release()       at the end, however that came about, and without an acquire before, too

`compile` must not need what only `acquire` brings, nor the other way round: which of them comes
first, and whether there is an `acquire` at all, is the connection's affair (connection.py). A
Model that is called needs both. What a device
says goes to `log`, one line each; whatever waits calls `check` now and then, which raises
Cancelled.

Lines of the log that programs and tests may rely on, in the order in which they happen:
"compiled in ..." or "loaded from the executable cache ..." or "pre-compiled in ...", "attached to
<kind> ...".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, Type

from ipulse_worker.runner.devices.cpu import CPU
from ipulse_worker.runner.devices.device import Device, DeviceDescription, DeviceFile, Log
from ipulse_worker.runner.devices.emulator import Emulator
from ipulse_worker.runner.devices.ipu import IPU

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

__all__ = [
    "CPU",
    "IPU",
    "KINDS",
    "Device",
    "DeviceDescription",
    "DeviceFile",
    "Emulator",
    "Log",
    "device_of",
]

KINDS: Dict[str, Type[Device]] = {device.kind: device for device in (CPU, Emulator, IPU)}


def device_of(spec: ExperimentSpec, log: Log, check: Callable[[], None]) -> Device:
    """The device that a spec asks for; nothing is waited for or built yet."""
    return KINDS[spec.device.kind](spec, log, check)
