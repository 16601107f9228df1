"""Handles of jobs: what `ipulse.connect` returns, built on the clients of `ipulse.client`."""

from .async_connection import AsyncConnection, connect_async
from .comparison import JobComparison, compare
from .connection import Connection, connect
from .data_library import DataLibrary
from .jobs.async_job import AsyncJobHandle
from .jobs.failures import JobFailed
from .jobs.files import FileHandle, JobFiles
from .jobs.found_jobs import FoundJobs
from .jobs.job import JobHandle
from .jobs.job_profile import JobProfile
from .jobs.logs import LogLine
from .jobs.metrics import BestEpoch
from .jobs.spikes import SampleSpikes
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
