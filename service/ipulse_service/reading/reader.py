"""The reader of documents: each in a process of its own, in turns of the tokens."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar, TypeVarTuple

import anyio
from anyio import to_thread

from ipulse_core.errors import InvalidInput, Problem, Unavailable
from ipulse_core.pva.report import InvalidReport
from ipulse_core.source_package import InvalidPackage
from ipulse_service.reading import process
from ipulse_service.reading.isolation import Isolation
from ipulse_service.reading.process import ReadingStopped
from ipulse_service.reading.turns import Turns

PLACES = 3  # documents that are read at once for requests; each takes a core

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Kind(NamedTuple):
    """A kind of document."""

    module: str  # that reads it
    what: str  # it is, for messages
    seconds: float  # that reading it may take; the module limits its processor time


ARCHIVE = Kind("ipulse_service.reading.archive", "archive", 600.0)
NETWORK = Kind("ipulse_core.data_files.nir_outline", "network", 60.0)
NIR = Kind("ipulse_core.nir", "NIR file", 60.0)
PACKAGE = Kind("ipulse_service.reading.package", "package", 60.0)
PROFILES = Kind("ipulse_service.reading.profiles", "profile", 60.0)

# Errors of modules by their code; the others are InvalidInput.
_ERRORS: dict[str, type[InvalidInput]] = {
    each.code: each for each in (InvalidPackage, InvalidReport)
}


class Unreadable(Exception):
    """The document is damaged, or reading it takes too much; `detail` says so."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(detail)


class DocumentReader:
    """Reads documents for requests, and begins no other once it stops."""

    def __init__(self, scratch: Path, isolation: Isolation) -> None:
        """Reads in folders below `scratch`."""
        self.isolation = isolation
        self._scratch = scratch
        self._turns = Turns(PLACES)
        self._threads = anyio.CapacityLimiter(PLACES)
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Ends the processes that read."""
        self._stopping.set()

    async def in_turn(self, token: str, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Runs a function that reads in a thread, when it is the token's turn.

        Raises ReaderBusy if others read for long, and what the function raises.
        """
        async with self._turns.turn(token):
            return await to_thread.run_sync(function, *arguments, limiter=self._threads)

    def read(
        self, kind: Kind, arguments: Sequence[str | Path], rows: IO[bytes] | None = None
    ) -> dict[str, Any]:
        """Reads a document and returns what its module found.

        Args:
            kind: Of the document.
            arguments: Of its module; a path is a document.
            rows: A file for a module that writes many rows.

        Raises:
            Unreadable: It is damaged, or takes too much time or memory.
            InvalidInput: The module found problems.
            Unavailable: The service stops, or something else ended the process.
        """
        self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="read-", dir=self._scratch) as folder:
            try:
                ended = process.run(
                    self.isolation,
                    kind.module,
                    arguments,
                    Path(folder),
                    kind.seconds,
                    self._stopping.is_set,
                    rows,
                )
            except ReadingStopped:
                raise Unavailable("the service stops; try again when it runs") from None
            except OSError as error:
                raise Unavailable(
                    f"the {kind.what} cannot be read now: {error.strerror}"
                ) from error
        if ended.took_too_long:
            raise Unreadable(f"reading the {kind.what} takes too long")
        if ended.was_late:
            raise Unavailable(
                f"the {kind.what} was not read within {kind.seconds:g} s, because the machine of "
                "the service has much to do; try again later"
            )
        if ended.was_killed:
            raise Unavailable(
                f"the process that read the {kind.what} was killed; the machine of the service "
                "perhaps lacks memory"
            )
        if ended.has_failed:
            raise Unreadable(f"the {kind.what} is damaged, or written in a way that is not known")
        result: dict[str, Any] = json.loads(ended.output)
        if "problems" in result:
            refusal = _ERRORS.get(result["code"], InvalidInput)
            raise refusal([Problem(**each) for each in result["problems"]], result["message"])
        if "refusal" in result:
            raise Unreadable(result["refusal"])
        return result
