"""The objects that make up a running service, and how a route gets at them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, cast

from fastapi import Request

from ipulse_service.background.change_poller import ChangePoller
from ipulse_service.background.dataset_checker import DatasetChecker
from ipulse_service.background.housekeeping import Housekeeper
from ipulse_service.background.news_sender import NewsSender
from ipulse_service.background.publisher import Publisher
from ipulse_service.background.reaper import Reaper
from ipulse_service.background.sandbox_prober import SandboxProber
from ipulse_service.background.sweep_controller import SweepController
from ipulse_service.datasets.network_import import NetworkImporter
from ipulse_service.db.access import NOBODY
from ipulse_service.db.engine import Database
from ipulse_service.db.shared_reads import SharedReads
from ipulse_service.files.blobs import Blobs
from ipulse_service.files.file_thread_pool import FileThreadPool
from ipulse_service.files.s3 import S3Blobs
from ipulse_service.http import log_context
from ipulse_service.http.auth import Tokens
from ipulse_service.http.caller import Caller
from ipulse_service.http.denials import Denials
from ipulse_service.http.metrics import Metrics
from ipulse_service.http.oidc import OpenIDClient
from ipulse_service.http.readiness import Readiness
from ipulse_service.http.server.lanes import Lanes
from ipulse_service.http.startup import Startup
from ipulse_service.jobs.change_notifier import JobNotifier
from ipulse_service.jobs.curves.cache import CurveCache
from ipulse_service.jobs.importing.importer import JobImporter
from ipulse_service.jobs.queue.waiting import QueueView
from ipulse_service.reading.reader import DocumentReader
from ipulse_service.settings import Settings


class BackgroundThread(Protocol):
    """A thread of the service; `stop` returns once it has ended."""

    def start(self) -> None:
        """Starts the thread."""

    def stop(self) -> None:
        """Ends the thread."""


@dataclass(frozen=True)
class AppState:
    """Made once by `create_app`; every object lives as long as the application."""

    settings: Settings
    tokens: Tokens
    database: Database
    blobs: Blobs | S3Blobs
    file_threads: FileThreadPool
    reader: DocumentReader
    job_importer: JobImporter
    network_importer: NetworkImporter
    notifier: JobNotifier
    shared_reads: SharedReads
    change_poller: ChangePoller
    publisher: Publisher
    reaper: Reaper
    sweep_controller: SweepController
    housekeeper: Housekeeper
    dataset_checker: DatasetChecker
    sandbox_prober: SandboxProber
    news_sender: NewsSender
    readiness: Readiness
    metrics: Metrics
    denials: Denials
    oidc: OpenIDClient
    page_host: str | None  # under which the page keeps its cookie; see page_host.py
    queue_view: QueueView
    curve_cache: CurveCache
    lanes: Lanes
    startup: Startup

    @property
    def threads(self) -> tuple[BackgroundThread, ...]:
        """The background threads, in the order in which they are started and stopped."""
        return (
            self.publisher,
            self.reaper,
            self.sweep_controller,
            self.housekeeper,
            self.dataset_checker,
            self.sandbox_prober,
            self.news_sender,
            self.change_poller,
        )


# Both are coroutines: FastAPI calls a plain function in another thread.


async def get_state(request: Request) -> AppState:
    """Returns the state of the application that received the request.

    Its database has the rights of the caller: what the caller may not see, no route finds.
    """
    services = cast(AppState, request.app.state.services)
    caller: Caller | None = getattr(request.state, "caller", None)
    access = NOBODY if caller is None else caller.access
    request_id = log_context.request_id.get()
    access = replace(
        access, token_id=None if caller is None else caller.token_id, request_id=request_id
    )
    return replace(services, database=services.database.acting_for(access))


async def get_caller(request: Request) -> Caller:
    """Returns the owner of the token that came with the request."""
    return cast(Caller, request.state.caller)
