"""What a running service consists of, and how a route gets at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from fastapi import Request

from ipulse_service.background.change_poller import ChangePoller
from ipulse_service.background.dispatcher import Dispatcher
from ipulse_service.background.housekeeping import Housekeeper
from ipulse_service.db.engine import Database
from ipulse_service.db.shared_reads import SharedReads
from ipulse_service.files.blobs import Blobs
from ipulse_service.files.file_thread_pool import FileThreadPool
from ipulse_service.files.s3 import S3Blobs
from ipulse_service.http.auth import Caller, Tokens
from ipulse_service.http.metrics import Metrics
from ipulse_service.http.readiness import Readiness
from ipulse_service.jobs.change_notifier import JobNotifier
from ipulse_service.jobs.summaries import Summaries
from ipulse_service.settings import Settings


@dataclass(frozen=True)
class AppState:
    """Made once by create_app; they live as long as the application."""

    settings: Settings
    tokens: Tokens
    database: Database
    blobs: Blobs | S3Blobs
    file_threads: FileThreadPool
    notifier: JobNotifier
    shared_reads: SharedReads
    summaries: Summaries
    change_poller: ChangePoller
    dispatcher: Dispatcher
    housekeeper: Housekeeper
    readiness: Readiness
    metrics: Metrics


# Functions and not dependencies: FastAPI takes longer to resolve one than some routes take in all.


def get_state(request: Request) -> AppState:
    """What the service that was asked consists of."""
    return cast(AppState, request.app.state.services)


def get_caller(request: Request) -> Caller:
    """Whose token came with a request."""
    return cast(Caller, request.state.caller)
