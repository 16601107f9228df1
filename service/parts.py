"""What a running service consists of, and how a route gets at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from fastapi import Request

from .auth import Caller, Tokens
from .blobs import Blobs
from .changes import Changes
from .database import Database
from .dispatcher import Dispatcher
from .housekeeping import Housekeeper
from .lookout import Lookout
from .metrics import Metrics
from .readiness import Readiness
from .s3 import S3Blobs
from .settings import Settings
from .shared_reads import SharedReads
from .summaries import Summaries
from .transfers import Transfers


@dataclass(frozen=True)
class Parts:
    """Made once by create_app; they live as long as the application."""

    settings: Settings
    tokens: Tokens
    database: Database
    blobs: Blobs | S3Blobs
    transfers: Transfers
    changes: Changes
    shared_reads: SharedReads
    summaries: Summaries
    lookout: Lookout
    dispatcher: Dispatcher
    housekeeper: Housekeeper
    readiness: Readiness
    metrics: Metrics


# Functions and not dependencies: FastAPI takes longer to resolve one than some routes take in all.


def parts_of(request: Request) -> Parts:
    """What the service that was asked consists of."""
    return cast(Parts, request.app.state.parts)


def caller_of(request: Request) -> Caller:
    """Whose token came with a request."""
    return cast(Caller, request.state.caller)
