"""Shares the emulated IPUs of a host between processes, and records the use of real IPUs.

This package does not import TensorFlow.
"""

from __future__ import annotations

from ipulse_worker.runner.devices.pool.pool import Pool, Reservation, devices_directory
from ipulse_worker.runner.devices.pool.usage_records import UsageRecord, UsageRecords
from ipulse_worker.runner.devices.pool.waiting import DeviceUnavailable, Holder, Wait, WaitPolicy

__all__ = [
    "DeviceUnavailable",
    "Holder",
    "Pool",
    "Reservation",
    "UsageRecord",
    "UsageRecords",
    "Wait",
    "WaitPolicy",
    "devices_directory",
]
