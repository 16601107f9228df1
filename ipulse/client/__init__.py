"""The Python client of the HTTP API: `Connection`, and `AsyncConnection` for asyncio and trio.

    import ipulse

    with ipulse.connect() as connection:
        job = connection.submit("experiment.yaml")
        for event in job.watch():
            print(event.kind, event.fields)
        job.download("results")

Without arguments a connection uses the service that `ipulse up` started on this machine. The
blocking classes are generated from the asynchronous ones, which `asynchronous` has.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ipulse.install_hint import install_hint
from ipulse_core.errors import MissingDependency

if TYPE_CHECKING:
    from .administration.resources import AgentStatus as AgentStatus
    from .administration.resources import AuditPage as AuditPage
    from .administration.resources import BrowserSession as BrowserSession
    from .administration.resources import CallerRights as CallerRights
    from .administration.resources import Delivery as Delivery
    from .administration.resources import DeviceStatus as DeviceStatus
    from .administration.resources import JoinToken as JoinToken
    from .administration.resources import Pool as Pool
    from .administration.resources import Project as Project
    from .administration.resources import QuotaLimit as QuotaLimit
    from .administration.resources import Reservation as Reservation
    from .administration.resources import Token as Token
    from .administration.resources import UsedTime as UsedTime
    from .administration.resources import User as User
    from .administration.resources import Webhook as Webhook
    from .asynchronous.connection import AsyncConnection as AsyncConnection
    from .asynchronous.connection import connect_async as connect_async
    from .asynchronous.found_jobs import AsyncFoundJobs as AsyncFoundJobs
    from .asynchronous.job import AsyncJobHandle as AsyncJobHandle
    from .asynchronous.sweep import AsyncSweepHandle as AsyncSweepHandle
    from .blocking.connection import Connection as Connection
    from .blocking.connection import connect as connect
    from .blocking.found_jobs import FoundJobs as FoundJobs
    from .blocking.job import JobHandle as JobHandle
    from .blocking.sweep import SweepHandle as SweepHandle
    from .datasets.resources import DatasetVersion as DatasetVersion
    from .datasets.resources import ImportedNetwork as ImportedNetwork
    from .job_comparison import JobComparison as JobComparison
    from .job_comparison import compare as compare
    from .jobs.batches import BatchResult as BatchResult
    from .jobs.batches import JobSelection as JobSelection
    from .jobs.curves import MetricCurve as MetricCurve
    from .jobs.failures import JobFailed as JobFailed
    from .jobs.failures import SeveralJobs as SeveralJobs
    from .jobs.files import FileHandle as FileHandle
    from .jobs.files import JobFiles as JobFiles
    from .jobs.job_profile import JobProfile as JobProfile
    from .jobs.logs import LogLine as LogLine
    from .jobs.metrics import BestEpoch as BestEpoch
    from .jobs.requests import JobRequest as JobRequest
    from .jobs.requests import SpecSource as SpecSource
    from .jobs.resources import Artifact as Artifact
    from .jobs.resources import Job as Job
    from .jobs.resources import JobChange as JobChange
    from .jobs.resources import JobEvent as JobEvent
    from .jobs.resources import SubmissionPlan as SubmissionPlan
    from .jobs.resources import ValidSpec as ValidSpec
    from .jobs.spikes import SampleSpikes as SampleSpikes
    from .sweeps.resources import SweepPlan as SweepPlan
    from .sweeps.resources import SweepStatus as SweepStatus
    from .sweeps.resources import SweepTrial as SweepTrial

if find_spec("httpx") is None:
    raise MissingDependency(
        f"the IPUlse client needs httpx, which is not installed: {install_hint('client')}"
    )

# The names of each module.
_NAMES = {
    ".administration.resources": (
        "AgentStatus",
        "AuditPage",
        "BrowserSession",
        "CallerRights",
        "Delivery",
        "DeviceStatus",
        "JoinToken",
        "Project",
        "Pool",
        "QuotaLimit",
        "Reservation",
        "Token",
        "UsedTime",
        "User",
        "Webhook",
    ),
    ".asynchronous.connection": ("AsyncConnection", "connect_async"),
    ".asynchronous.found_jobs": ("AsyncFoundJobs",),
    ".asynchronous.job": ("AsyncJobHandle",),
    ".asynchronous.sweep": ("AsyncSweepHandle",),
    ".blocking.connection": ("Connection", "connect"),
    ".blocking.found_jobs": ("FoundJobs",),
    ".blocking.job": ("JobHandle",),
    ".blocking.sweep": ("SweepHandle",),
    ".datasets.resources": ("DatasetVersion", "ImportedNetwork"),
    ".job_comparison": ("JobComparison", "compare"),
    ".jobs.batches": ("BatchResult", "JobSelection"),
    ".jobs.curves": ("MetricCurve",),
    ".jobs.failures": ("JobFailed", "SeveralJobs"),
    ".jobs.files": ("FileHandle", "JobFiles"),
    ".jobs.job_profile": ("JobProfile",),
    ".jobs.logs": ("LogLine",),
    ".jobs.metrics": ("BestEpoch",),
    ".jobs.requests": ("JobRequest", "SpecSource"),
    ".jobs.resources": ("Artifact", "Job", "JobChange", "JobEvent", "SubmissionPlan", "ValidSpec"),
    ".jobs.spikes": ("SampleSpikes",),
    ".sweeps.resources": ("SweepPlan", "SweepStatus", "SweepTrial"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [*_MODULES]


if not TYPE_CHECKING:  # so that type checkers find unknown names

    def __getattr__(name: str) -> Any:
        """Imports a name on first use.

        A completion only finds the service: 0.2 s of processor time, with all names 1.3 s.
        """
        if name in _MODULES:
            return getattr(import_module(_MODULES[name], __name__), name)
        from ipulse.deprecated import former_name

        return former_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
