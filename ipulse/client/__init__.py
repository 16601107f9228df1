"""The Python client of the HTTP API: `Client` and `AsyncClient`.

    from ipulse.client import Client

    with Client() as client:
        job = client.submit("experiment.yaml")
        for event in client.watch(job.id):
            print(event.kind, event.fields)
        client.download(job.id, "results")

Without arguments a client uses the service that `ipulse up` started on this machine.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ipulse.install_hint import install_hint
from ipulse_core.errors import MissingDependency

if TYPE_CHECKING:
    from .administration.resources import AgentStatus as AgentStatus
    from .administration.resources import DeviceStatus as DeviceStatus
    from .administration.resources import JoinToken as JoinToken
    from .administration.resources import Token as Token
    from .asynchronous import AsyncClient as AsyncClient
    from .datasets.resources import DatasetVersion as DatasetVersion
    from .jobs.batches import BatchResult as BatchResult
    from .jobs.batches import JobSelection as JobSelection
    from .jobs.curves import MetricCurve as MetricCurve
    from .jobs.job_reference import SeveralJobs as SeveralJobs
    from .jobs.requests import JobRequest as JobRequest
    from .jobs.requests import SpecSource as SpecSource
    from .jobs.resources import Artifact as Artifact
    from .jobs.resources import Job as Job
    from .jobs.resources import JobEvent as JobEvent
    from .jobs.resources import SubmissionPlan as SubmissionPlan
    from .jobs.resources import ValidSpec as ValidSpec
    from .sweeps.resources import SweepStatus as SweepStatus
    from .sweeps.resources import SweepTrial as SweepTrial
    from .synchronous import Client as Client

if find_spec("httpx") is None:
    raise MissingDependency(
        f"the IPUlse client needs httpx, which is not installed: {install_hint('client')}"
    )

# Modules by the names that they define.
_MODULES = {
    **dict.fromkeys(
        ("AgentStatus", "DeviceStatus", "JoinToken", "Token"), ".administration.resources"
    ),
    "AsyncClient": ".asynchronous",
    "DatasetVersion": ".datasets.resources",
    **dict.fromkeys(("BatchResult", "JobSelection"), ".jobs.batches"),
    "MetricCurve": ".jobs.curves",
    "SeveralJobs": ".jobs.job_reference",
    **dict.fromkeys(("JobRequest", "SpecSource"), ".jobs.requests"),
    **dict.fromkeys(
        ("Artifact", "Job", "JobEvent", "SubmissionPlan", "ValidSpec"), ".jobs.resources"
    ),
    **dict.fromkeys(("SweepStatus", "SweepTrial"), ".sweeps.resources"),
    "Client": ".synchronous",
}

__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    """Imports a name on first use.

    A completion in a shell only finds the service: 0.2 s of processor time, with all names 1.3 s.
    """
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
