"""The emulated IPUs that the processes of a host share: ipus.py; who has IPUs: records.py.

Imports no TensorFlow.
"""

from __future__ import annotations

from ipulse_worker.runner.devices.pool.ipus import (
    DeviceUnavailable,
    Holder,
    Lease,
    Patience,
    Pool,
    Wait,
    devices_directory,
)
from ipulse_worker.runner.devices.pool.records import Record, Records

__all__ = [
    "DeviceUnavailable",
    "Holder",
    "Lease",
    "Patience",
    "Pool",
    "Record",
    "Records",
    "Wait",
    "devices_directory",
]
