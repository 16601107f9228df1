"""What a network learns from: one file per data set, and what they share."""

from __future__ import annotations

from ipulse_worker.runner.data.dataset import Dataset, DataUnavailable, hold_out
from ipulse_worker.runner.data.event_counts import EventCounts

__all__ = ["DataUnavailable", "Dataset", "EventCounts", "hold_out"]
