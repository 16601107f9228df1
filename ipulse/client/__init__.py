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

from ipulse.install_hint import install_hint
from ipulse_core.errors import MissingDependency

try:
    import httpx as _httpx  # noqa: F401  # imported here, so that its absence is explained
except ImportError as error:
    raise MissingDependency(
        f"the IPUlse client needs httpx, which is not installed: {install_hint('client')}"
    ) from error

from .administration.resources import AgentStatus, DeviceStatus, JoinToken, Token
from .asynchronous import AsyncClient
from .datasets.resources import DatasetVersion
from .jobs.batches import BatchResult, JobSelection
from .jobs.curves import MetricCurve
from .jobs.requests import JobRequest, SpecSource
from .jobs.resources import Artifact, Job, JobEvent, SubmissionPlan, ValidSpec
from .sweeps.resources import SweepStatus, SweepTrial
from .synchronous import Client

__all__ = [
    "AgentStatus",
    "Artifact",
    "AsyncClient",
    "BatchResult",
    "Client",
    "DatasetVersion",
    "DeviceStatus",
    "Job",
    "JobEvent",
    "JobRequest",
    "JobSelection",
    "JoinToken",
    "MetricCurve",
    "SpecSource",
    "SubmissionPlan",
    "SweepStatus",
    "SweepTrial",
    "Token",
    "ValidSpec",
]
