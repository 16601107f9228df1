"""The limits that quotas of projects and people set."""

from __future__ import annotations

from enum import Enum


class Quota(str, Enum):
    """The kinds of quotas."""

    QUEUED_JOBS = "queued_jobs"
    DEVICES = "devices"  # at once
    DEVICE_SECONDS = "device_seconds"  # a month
    BYTES = "bytes"  # of stored files
    DATASETS = "datasets"
    UPLOADS = "uploads"  # unfinished ones
    CHECKS = "checks"  # data sets that are being checked
    PRIORITY = "priority"  # the highest
    SHARE = "share"  # of the devices, relative to others that want them; 1 unless it is set
