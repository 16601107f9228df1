"""Handles of jobs: what `ipulse.connect` returns, built on the clients of `ipulse.client`."""

from .async_connection import AsyncConnection, connect_async
from .async_job import AsyncJobHandle
from .connection import Connection, connect
from .failures import JobFailed
from .files import FileHandle, JobFiles
from .job import JobHandle
from .job_profile import JobProfile
from .logs import LogLine
from .metrics import BestEpoch

__all__ = [
    "AsyncConnection",
    "AsyncJobHandle",
    "BestEpoch",
    "Connection",
    "FileHandle",
    "JobFailed",
    "JobFiles",
    "JobHandle",
    "JobProfile",
    "LogLine",
    "connect",
    "connect_async",
]
