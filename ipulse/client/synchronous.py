"""The synchronous client."""

from __future__ import annotations

from types import TracebackType

from .blocking.agents import BlockingAgents
from .blocking.data_sets import BlockingDataSets
from .blocking.job_changes import BlockingJobChanges
from .blocking.job_results import BlockingJobResults
from .blocking.jobs import BlockingJobs
from .blocking.sweeps import BlockingSweeps
from .blocking.tokens import BlockingTokens
from .client_base import ClientBase
from .location import PathLike, find_service
from .transport.connection import options_for
from .transport.transports import BlockingTransport, finished


class Client(
    BlockingJobs,
    BlockingJobChanges,
    BlockingJobResults,
    BlockingSweeps,
    BlockingDataSets,
    BlockingAgents,
    BlockingTokens,
):
    """Submits jobs, follows them and downloads their results.

    The client finds the service by its arguments, the environment (IPULSE_URL, IPULSE_TOKEN,
    IPULSE_TOKEN_FILE, IPULSE_CA) or the home of `ipulse up`. `ca` is a file with the service's
    authority or certificate. Calls are retried up to `retries` times while the service is
    unavailable, twice as often for watching, waiting and downloading. `timeout` is in seconds, for
    each response to begin. Errors are those of ipulse_core.errors. Close the client, or use it as
    a context manager.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        token_file: PathLike | None = None,
        home: PathLike | None = None,
        ca: PathLike | None = None,
        timeout: float = 30.0,
        retries: int = 4,
    ) -> None:
        service = find_service(url, token, token_file, home, ca=ca)
        self.url = service.url
        transport = BlockingTransport(**options_for(service, timeout))
        self._calls = ClientBase(service.url, transport, timeout, retries)
        self._http = transport.http

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def calls(self) -> ClientBase:
        """The coroutines that the methods of this client run; none of them ever suspends."""
        return self._calls

    def close(self) -> None:
        """Close the connections."""
        finished(self._calls.close())
