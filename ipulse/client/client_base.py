"""The calls of both clients, over a blocking or an asynchronous transport.

Files are written between awaits, one block at a time, which is fast on a local disk.
"""

from __future__ import annotations

from .administration.agents import Agents
from .administration.tokens import TokenCalls
from .datasets.data_sets import DataSets
from .jobs.archives import JobArchives
from .jobs.changes import JobChanges
from .jobs.jobs import Jobs
from .jobs.results import JobResults
from .sweeps.sweeping import Sweeping


class ClientBase(Jobs, JobChanges, JobResults, JobArchives, Sweeping, DataSets, Agents, TokenCalls):
    """All calls of both clients; errors are those of ipulse_core.errors."""
