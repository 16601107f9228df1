"""Handles of jobs: what `ipulse.connect` returns, built on the clients of `ipulse.client`."""

from .async_connection import AsyncConnection, connect_async
from .async_job import AsyncJobHandle
from .comparison import JobComparison, compare
from .connection import Connection, connect
from .data_library import DataLibrary
from .failures import JobFailed
from .files import FileHandle, JobFiles
from .found_jobs import FoundJobs
from .job import JobHandle
from .job_profile import JobProfile
from .logs import LogLine
from .metrics import BestEpoch
from .spikes import SampleSpikes
from .sweep import SweepHandle

__all__ = [
    "AsyncConnection",
    "AsyncJobHandle",
    "BestEpoch",
    "Connection",
    "DataLibrary",
    "FileHandle",
    "FoundJobs",
    "JobComparison",
    "JobFailed",
    "JobFiles",
    "JobHandle",
    "JobProfile",
    "LogLine",
    "SampleSpikes",
    "SweepHandle",
    "compare",
    "connect",
    "connect_async",
]
