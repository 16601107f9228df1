"""Data sets as spike trains: one module per data set, and their common parts."""

from __future__ import annotations

from ipulse_worker.runner.data.dataset import Dataset, DataUnavailable, hold_out
from ipulse_worker.runner.data.event_counts import EventCounts

__all__ = ["DataUnavailable", "Dataset", "EventCounts", "hold_out"]
