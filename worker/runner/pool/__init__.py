"""The emulated IPUs that the processes of a host share: ipus.py. Imports no TensorFlow."""

from __future__ import annotations

from .ipus import DeviceUnavailable, Holder, Lease, Patience, Pool, Wait

__all__ = ["DeviceUnavailable", "Holder", "Lease", "Patience", "Pool", "Wait"]
